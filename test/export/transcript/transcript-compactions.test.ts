import { expect, it } from "vitest";
import { renderLog } from "../../../src/export/run-log.ts";
import { clerk, compacting } from "../../engine/conversation/compaction-fixture.ts";
import { expectInOrder, transcriptOf } from "./transcript-fixture.ts";

it("shows a summary where it begins, with its charge, and why there was none", async () => {
  let requests = 0;
  const talk = await compacting(
    clerk(() => (++requests === 1 ? { text: "Sum." } : { text: "S", finishReason: "length" })),
  );
  await talk.tell("One.", "Two.", "Three.");
  const text = await transcriptOf(talk.store, "chat");
  expectInOrder(text, [
    "The model is ",
    "**Exchange 1 begins.**",
    "The model was asked at",
    "**The history of step `clerk` is compacted** at",
    "from turn 2 on, the model sees a summary in place of everything before.",
    "The model wrote the summary:\n\n```text\nSum.\n```",
    "**Exchange 2 begins.**",
    "**Exchange 3 begins.** The history before it was not compacted: The summary was cut off at maxOutputTokens",
  ]);
  const log = await renderLog(talk.store, "chat");
  expect(log).toMatch(/lineage\.begun .*turn=2.* reason=compaction author=model/);
});

it("says that a function wrote the summary, and that a budget did not cover one", async () => {
  const written = await compacting(undefined, { summarize: () => "Sum." });
  await written.tell("One.", "Two.");
  expect(await transcriptOf(written.store, "chat")).toContain(
    "A function of the conversation wrote the summary:",
  );
  const poor = await compacting(undefined, {}, { runner: { budgets: { maxTokens: 4_180 } } });
  await poor.tell("One.", "Two.");
  expect(await transcriptOf(poor.store, "chat")).toContain(
    "**The budget does not cover a summary of the history**",
  );
});

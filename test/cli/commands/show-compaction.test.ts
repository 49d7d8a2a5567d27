import { expect, it } from "vitest";
import { agent, conversation, openStore, Runner } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder } from "../sample-runs.ts";

it("shows how often the history of a conversation was compacted, and the summaries as JSON", async () => {
  const folder = cliFolder();
  const store = await openStore(`file:${folder.file}`);
  const model = scriptedModel(() => ({ text: "This is a rather long answer to everything. ".repeat(3) }));
  const summarize = () => "Sum.";
  const chat = conversation(agent({ name: "clerk", model }), { compaction: { atTokens: 20, summarize } });
  const runner = new Runner(chat, { store });
  for (const text of ["One.", "Two.", "Three."]) {
    await runner.send("chat", text, { by: "ann", orStart: {} });
    await runner.resume("chat", { wait: true });
  }
  await store.close();
  const { stdout } = await pawl(["show", "chat"], { ...folder, columns: 160 });
  expect(stdout).toContain("compacted 2 times, the last one before clerk turn 3");
  const { document } = await pawlJson<{ lineages: readonly { summary: string }[] }>(["show", "chat"], folder);
  expect(document.lineages.map(({ summary }) => summary)).toEqual(["Sum.", "Sum."]);
  const tail = await pawl(["tail", "chat"], { ...folder, columns: 160 });
  expect(tail.stdout).toMatch(/lineage\.begun .*clerk turn 2 .*reason=compaction {2}author=function/);
});

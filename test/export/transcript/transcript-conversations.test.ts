import { expect, it } from "vitest";
import { blobReferenceOf } from "../../../src/core/blob-reference.ts";
import { renderLog } from "../../../src/export/run-log.ts";
import { chat, gate, lastHeard } from "../../engine/conversation/conversation-fixture.ts";
import { transcriptOf } from "./transcript-fixture.ts";

it("shows a conversation: what people wrote, which turn took it, and how its exchanges ended", async () => {
  const at = gate();
  const talk = await chat(async (turn) => {
    if (lastHeard(turn) === "One.") await at.pass(turn.options.abortSignal);
    return { text: `Heard ${lastHeard(turn)}` };
  });
  await talk.say("One.");
  const working = talk.work();
  await at.reached;
  await talk.runner.stop("chat", { by: "ben" });
  await working;
  const changed = await chat(undefined, {
    agent: { instructions: "Be brief." },
    runner: { store: talk.store },
  });
  await changed.say("Two.", { mode: "steer" });
  await changed.work();
  const text = await transcriptOf(talk.store, "chat");
  for (const part of [
    "a conversation, exchange by exchange",
    "#### Exchange 1 of `clerk`: ann, at ",
    "**ann**, message 1:\n\n```text\nOne.",
    "**ben** asked at",
    "**Exchange 1 ended without a complete answer** (stopped): stopped by ben.",
    "The conversation waits for a message",
    "**The conversation continues with a changed agent**",
    "#### Exchange 2 of `clerk`: ann, at ",
    ", to steer.",
  ])
    expect(text).toContain(part);
});

it("names the files of a message, in the transcript and in the log, and has none of their bytes", async () => {
  const bytes = Buffer.from("THE BYTES OF A CAT");
  const { runner, work, store } = await chat();
  const picture = { type: "file", mediaType: "image/png", data: bytes } as const;
  const parts = [{ type: "text", text: "Look." } as const, { ...picture, filename: "a *cat*.png" }, picture];
  await runner.send("chat", { parts }, { by: "ann", orStart: {} });
  await runner.send("chat", { parts: [picture] }, { by: "ann" });
  await work();
  const transcript = await transcriptOf(store, "chat");
  const { blobId } = blobReferenceOf(bytes);
  expect(transcript).toContain(
    `**ann**, message 1:\n\n\`\`\`text\nLook.\n\`\`\`\n\n- a \\*cat\\*.png (image/png, 18 bytes, SHA-256 ${blobId})\n- (no name) (`,
  );
  expect(transcript).toContain("**ann**, message 2:\n\n- (no name) (image/png");
  const log = await renderLog(store, "chat");
  expect(log).toContain(
    `files="a *cat*.png (image/png, 18 bytes, SHA-256 ${blobId}), (no name) (image/png, 18 bytes, SHA-256 ${blobId})"`,
  );
  for (const text of [transcript, log])
    for (const form of [bytes.toString(), bytes.toString("base64")]) expect(text).not.toContain(form);
});

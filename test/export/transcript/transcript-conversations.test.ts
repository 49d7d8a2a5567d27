import { expect, it } from "vitest";
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

// The complete transcript of one eventful run, as a person has reviewed it: test/export/transcript/eventful-run.md.

import { expect, it } from "vitest";
import { renderTranscript } from "../../../src/export/transcript/transcript.ts";
import { eventfulRun } from "../eventful-run.ts";

it("a transcript is a text that a person can read from beginning to end", async () => {
  const { store, runId } = await eventfulRun();
  const transcript = await renderTranscript(store, runId);
  // Processes have different names each time.
  const owners = new Map<string, string>();
  const known = transcript.replaceAll(/(?<=Worker `)[^`]+/g, (owner) => {
    owners.set(owner, owners.get(owner) ?? `worker-${owners.size + 1}`);
    return owners.get(owner) ?? owner;
  });
  await expect(known).toMatchFileSnapshot("eventful-run.md");
  expect(owners.size).toBe(4);
});

import { expect, it } from "vitest";
import type { LivePart } from "../../../src/core/turn/live-part.ts";
import { RunSecrets } from "../../../src/engine/definition/run-secrets.ts";
import { hiddenLive } from "../../../src/engine/run/hidden-live.ts";

const secrets = new RunSecrets(new Set(["password"]), () => "0123456789ab", ["s-456789"]);
const MARK = "[secret:0123456789ab]";

function passedOn(...parts: readonly LivePart[]): readonly LivePart[] {
  const passed: LivePart[] = [];
  const live = hiddenLive(secrets, (part) => passed.push(part));
  for (const part of parts) live(part);
  return passed;
}

it("a secret that the pieces of a part cut in two is hidden, and each part has its own pieces", () => {
  const text = { part: 0, kind: "text" } as const;
  const call = { part: 1, kind: "tool_input", tool: "mail", toolCallId: "c1" } as const;
  expect(
    passedOn(
      { ...text, delta: "It is s-45" },
      { ...call, delta: '{"text":"s-4' },
      { ...text, delta: "6789." },
      { ...call, delta: '56789"}', end: true },
      { ...text, delta: "", end: true },
    ),
  ).toEqual([
    { ...text, delta: "It is " },
    { ...call, delta: '{"text":"' },
    { ...text, delta: `${MARK}.` },
    { ...call, delta: `${MARK}"}`, end: true },
    { ...text, delta: "", end: true },
  ]);
});

it("the rest of a part is passed on at its end, and never if the answer breaks off", () => {
  const text = { part: 0, kind: "text" } as const;
  expect(passedOn({ ...text, delta: "s-45" })).toEqual([]);
  expect(passedOn({ ...text, delta: "s-45" }, { ...text, delta: "", end: true })).toEqual([
    { ...text, delta: "s-45", end: true },
  ]);
});

it("a tool name and an id that a model made up of a secret are hidden, too", () => {
  expect(
    passedOn({
      part: 0,
      kind: "tool_input",
      tool: "s-456789",
      toolCallId: "s-456789",
      delta: "{}",
      end: true,
    }),
  ).toEqual([{ part: 0, kind: "tool_input", tool: MARK, toolCallId: MARK, delta: "{}", end: true }]);
});

import { expect, test } from "vitest";
import type { Act } from "../../../src/account/act.ts";
import { CommandInput } from "../../../src/cli/context/command.ts";
import { actCommand } from "../../../src/cli/screen/wait-hints.ts";

test("every act has a command", () => {
  const input = new CommandInput(new Map(), new Map([["store", "other.db"]]));
  const acts: readonly Act[] = [
    { kind: "approve", waitId: "q-1~1", argumentsHash: null },
    { kind: "deny", waitId: "q-1~1" },
    { kind: "answer", waitId: "q-1~1", suggested: "100" },
    { kind: "settle", callId: "q-1/a#1.1", as: "succeeded" },
    { kind: "settle", callId: "q-1/a#1.1", as: "retry" },
    { kind: "settle", callId: "q-1/a#1.1", as: "failed" },
    { kind: "resume", runId: "q-1", notBefore: null },
    { kind: "cancel", runId: "q-1" },
    { kind: "follow", runId: "q-1" },
    { kind: "send", runId: "q-1", event: null },
    { kind: "send", runId: "q-1", event: "paid" },
    { kind: "chat", runId: "q-1" },
    { kind: "list_waits", runId: "q-1" },
    { kind: "export_bundle", runId: "q-1", to: "s-2" },
  ];
  expect(acts.map((act) => actCommand(input, act).replace(/ --store other\.db$/, ""))).toEqual([
    "pawl approve q-1~1",
    "pawl deny q-1~1 --why '…'",
    "pawl answer q-1~1 100",
    "pawl settle q-1/a#1.1 --succeeded '{…}'",
    "pawl settle q-1/a#1.1 --retry",
    "pawl settle q-1/a#1.1 --failed '…'",
    "pawl resume q-1",
    "pawl cancel q-1",
    "pawl tail q-1 --follow",
    "pawl send q-1 '…'",
    "pawl send q-1 --event paid '{…}'",
    "pawl chat q-1",
    "pawl waits q-1",
    "pawl export q-1 --bundle FILE --to s-2",
  ]);
});

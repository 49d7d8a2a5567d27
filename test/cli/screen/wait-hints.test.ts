import { expect, test } from "vitest";
import type { Act } from "../../../src/account/act.ts";
import { CommandInput } from "../../../src/cli/context/command.ts";
import { actCommand } from "../../../src/cli/screen/wait-hints.ts";

test("every act has a command", () => {
  const input = new CommandInput(new Map(), new Map([["store", "other.db"]]));
  const acts: readonly Act[] = [
    { act: "approve", waitId: "q-1~1", argumentsHash: null },
    { act: "deny", waitId: "q-1~1" },
    { act: "answer", waitId: "q-1~1", suggested: "100" },
    { act: "settle", callId: "q-1/a#1.1", as: "succeeded" },
    { act: "settle", callId: "q-1/a#1.1", as: "retry" },
    { act: "settle", callId: "q-1/a#1.1", as: "failed" },
    { act: "resume", runId: "q-1", notBefore: null },
    { act: "cancel", runId: "q-1" },
    { act: "follow", runId: "q-1" },
    { act: "send", runId: "q-1", event: null },
    { act: "send", runId: "q-1", event: "paid" },
    { act: "chat", runId: "q-1" },
    { act: "list_waits", runId: "q-1" },
    { act: "export_bundle", runId: "q-1", to: "s-2" },
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

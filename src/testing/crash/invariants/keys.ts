import { toolCallKey } from "../../../core/call/tool-call-key.ts";
import type { ToolCallRecord } from "../../../store/store.ts";
import { FINE, type Invariant, lookAt, wrong } from "../invariant.ts";
import { keyName } from "./places.ts";

export const keysFitTheirCalls: Invariant = {
  name: "keys-fit-their-calls",
  promise:
    "The key of a call is made from its run, tool, identity and place, so that the same call has it again.",
  judge: ({ accounts }) =>
    lookAt(
      accounts.flatMap((account) => account.calls.map((call) => ({ account, call }))),
      ({ account: { run }, call }) =>
        scopeOf(run.runId, call) !== null
          ? FINE
          : wrong(
              `${call.tool} (${call.toolCallId}) has the key ${keyName(call.idempotencyKey)}, which is not its own`,
              call.tool,
            ),
    ),
};

export const wantedOnceHadOnce: Invariant = {
  name: "wanted-once-had-once",
  promise: "An effect that is wanted once in a run is had once, whoever asks for it.",
  judge: ({ accounts }) => {
    const wanted = accounts.flatMap(({ run, calls }) =>
      calls
        .filter((call) => scopeOf(run.runId, call) === "effect")
        .map((call) => ({ call, effect: `${run.runId} ${call.tool} ${call.identityHash}` })),
    );
    return lookAt(Map.groupBy(wanted, ({ effect }) => effect).values(), (ofEffect) => {
      const had = ofEffect.map(({ call }) => call).filter(({ status }) => status === "succeeded");
      const [first] = had;
      return first === undefined || had.length === 1
        ? FINE
        : wrong(
            `${first.tool} is wanted once, and ${had.map(({ toolCallId }) => toolCallId).join(" and ")} succeeded`,
            first.tool,
          );
    });
  },
};

function scopeOf(
  runId: string,
  { namespace, tool, identityHash, occurrence, idempotencyKey, stepPath }: ToolCallRecord,
): "call" | "effect" | null {
  const identity = { runId, namespace, tool, identityHash: Buffer.from(identityHash, "hex"), occurrence };
  const scopes = [{ kind: "call", stepPath }, { kind: "effect" }] as const;
  const scope = scopes.find(
    (each) => toolCallKey({ ...identity, scope: each }).toString("hex") === idempotencyKey,
  );
  return scope?.kind ?? null;
}

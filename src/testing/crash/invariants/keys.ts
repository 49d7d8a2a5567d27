import { toolCallKey } from "../../../core/call/tool-call-key.ts";
import type { ToolCallRecord } from "../../../store/store.ts";
import { checkEach, FINE, type Invariant, wrong } from "../invariant.ts";
import { keyName } from "./observations.ts";

export const keysFitTheirCalls: Invariant = {
  name: "keys-fit-their-calls",
  promise:
    "The key of a call is derived from its run, tool, identity and scope, so that the same call always has the same key.",
  judge: ({ accounts }) =>
    checkEach(
      accounts.flatMap((account) => account.calls.map((call) => ({ account, call }))),
      ({ account: { run }, call }) =>
        scopeOf(run.runId, call) !== null
          ? FINE
          : wrong(
              `${call.tool} (${call.toolCallId}) has the key ${keyName(call.idempotencyKey)}, which is not derived from it`,
              call.tool,
            ),
    ),
};

export const wantedOnceHadOnce: Invariant = {
  name: "wanted-once-had-once",
  promise: "An effect that is wanted once in a run succeeds only once, whichever call asks for it.",
  judge: ({ accounts }) => {
    const oncePerRun = accounts.flatMap(({ run, calls }) =>
      calls
        .filter((call) => scopeOf(run.runId, call) === "effect")
        .map((call) => ({ call, effect: `${run.runId} ${call.tool} ${call.identityHash}` })),
    );
    return checkEach(Map.groupBy(oncePerRun, ({ effect }) => effect).values(), (ofEffect) => {
      const succeeded = ofEffect.map(({ call }) => call).filter(({ status }) => status === "succeeded");
      const [first] = succeeded;
      return first === undefined || succeeded.length === 1
        ? FINE
        : wrong(
            `${first.tool} is wanted once in the run, but ${succeeded.map(({ toolCallId }) => toolCallId).join(" and ")} succeeded`,
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

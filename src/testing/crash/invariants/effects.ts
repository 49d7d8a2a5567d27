import { PROVIDER_NAMESPACE } from "../../../engine/definition/provider-tool.ts";
import type { ToolCallRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { FINE, type Finding, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import type { Effect, WitnessLine } from "../witness.ts";
import { allLines, copiedCalls, keyName } from "./places.ts";
import { excusedEffects } from "./stopped-before-sending.ts";

/** Only what changes something for others has to happen once. */
function matters({ effect }: Pick<ToolCallRecord, "effect">): boolean {
  return effect === "external" || effect === "memory";
}

function effectsIn(lines: readonly WitnessLine[]): Effect[] {
  return lines.filter((line): line is Effect => line.kind === "effect");
}

export const effectsAtMostOnce: Invariant = {
  name: "effects-at-most-once",
  promise: "What changes something outside happens at most once for each call.",
  judge: (evidence) => {
    const lines = allLines(evidence);
    const effects = effectsIn(lines).filter(matters);
    const excused = excusedEffects(evidence, lines);
    const once = lookAt(Map.groupBy(effects, ({ key }) => key).values(), (ofKey) => judgeKey(ofKey, excused));
    // Where the one window that fencing leaves open was hit, nothing was put to the test.
    const looked = once.looked - new Set([...excused].map(({ key }) => key)).size;
    const problems = [...once.problems, ...strayEffects(evidence, effects)];
    return { looked: Math.max(0, looked), problems };
  },
};

function judgeKey(effects: readonly Effect[], excused: ReadonlySet<Effect>): readonly Problem[] {
  const [first] = effects;
  const real = effects.filter((effect) => !effect.isDropped && !excused.has(effect));
  if (first === undefined || real.length <= 1) return FINE;
  const { tool, toolCallId, key, recovery } = first;
  const why =
    recovery === "repeat"
      ? ": it says that it may be repeated"
      : recovery === "keyed" && real.some(({ keySeen }) => !keySeen)
        ? ": it calls itself keyed and never looks at its key"
        : "";
  const where = real.map(({ life, attempt }) => `process ${life}, try ${attempt}`).join("; ");
  return wrong(
    `${tool} happened ${real.length} times for one call (${toolCallId}, key ${keyName(key)}; ${where})${why}`,
    tool,
  );
}

/** What happened belongs to a call of the ledger, and a call has one key. */
function strayEffects({ accounts }: Evidence, effects: readonly Effect[]): readonly Problem[] {
  const known = new Map(accounts.flatMap(({ calls }) => calls.map((call) => [call.idempotencyKey, call])));
  const unknown = [...new Map(effects.map((effect) => [effect.key, effect])).values()].filter(
    ({ key, toolCallId }) => known.get(key)?.toolCallId !== toolCallId,
  );
  const several = [...Map.groupBy(effects, ({ toolCallId }) => toolCallId).values()].filter(
    (ofCall) => new Set(ofCall.map(({ key }) => key)).size > 1,
  );
  return [
    ...unknown.flatMap(({ tool, toolCallId, key }) =>
      wrong(
        `${tool} happened under the key ${keyName(key)}, and the ledger has no call ${toolCallId} with that key`,
        tool,
      ),
    ),
    ...several.flatMap((ofCall) => {
      const [{ tool, toolCallId } = { tool: "", toolCallId: "" }] = ofCall;
      const keys = [...new Set(ofCall.map(({ key }) => keyName(key)))];
      return wrong(
        `${tool} happened for one call (${toolCallId}) under several keys: ${keys.join(", ")}`,
        tool,
      );
    }),
  ];
}

export const effectsExactlyOnceWhereSucceeded: Invariant = {
  name: "effects-exactly-once-where-succeeded",
  promise:
    "A call that is said to have succeeded has happened, and one that is said not to have run has not.",
  judge: (evidence) => {
    const lines = allLines(evidence);
    const excused = excusedEffects(evidence, lines);
    const byKey = Map.groupBy(effectsIn(lines), ({ key }) => key);
    const told = evidence.accounts.flatMap(callsWithAWord);
    return lookAt(told, (call) => {
      const effects = byKey.get(call.idempotencyKey) ?? [];
      return judgeWord(
        call,
        effects.filter(({ isDropped }) => !isDropped),
        excused,
      );
    });
  },
};

/** The calls whose receipt says whether they happened. What a person says is not ours to judge. */
function callsWithAWord(account: RunAccount): readonly ToolCallRecord[] {
  const copied = copiedCalls(account);
  return account.calls.filter(({ receipt, toolCallId, namespace, ...call }) => {
    if (receipt === null || copied.has(toolCallId) || namespace === PROVIDER_NAMESPACE) return false;
    if (receipt.status === "cancelled" || receipt.status === "deduplicated") return true;
    return receipt.status === "succeeded" && TOLD_BY_THE_OUTSIDE.has(receipt.source) && matters(call);
  });
}

const TOLD_BY_THE_OUTSIDE: ReadonlySet<string> = new Set(["tool", "reconciled", "late"]);

function judgeWord(
  { tool, toolCallId, idempotencyKey, recovery, status }: ToolCallRecord,
  real: readonly Effect[],
  excused: ReadonlySet<Effect>,
): readonly Problem[] {
  const which = `${tool} (${toolCallId}, key ${keyName(idempotencyKey)})`;
  if (status !== "succeeded")
    return real.length === 0
      ? FINE
      : wrong(`${which} is ${status}, so it was never to run, and it happened all the same`, tool);
  if (real.length === 0)
    return wrong(`${which} is said to have succeeded, and nothing has happened outside`, tool);
  const counted = real.filter((effect) => !excused.has(effect)).length;
  return counted <= 1 || recovery === "repeat"
    ? FINE
    : wrong(`${which} is said to have succeeded, and happened ${counted} times`, tool);
}

export const oneFingerprintPerKey: Invariant = {
  name: "one-fingerprint-per-key",
  promise: "Under one key the same tool is called with the same arguments, however often.",
  judge: (evidence): Finding => {
    const seen = allLines(evidence).filter((line) => "fingerprint" in line);
    return lookAt(
      Map.groupBy(seen, ({ key }) => key),
      ([key, lines]) => {
        const prints = new Set(lines.map(({ fingerprint }) => fingerprint));
        if (prints.size <= 1) return FINE;
        const { tool, toolCallId } = lines[0] as (typeof lines)[number];
        return wrong(
          `${tool} was called with ${prints.size} different sets of arguments under one key (${toolCallId}, key ${keyName(key)})`,
          tool,
        );
      },
    );
  },
};

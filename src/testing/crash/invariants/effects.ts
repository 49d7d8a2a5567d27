import { PROVIDER_NAMESPACE } from "../../../engine/definition/provider-tool.ts";
import type { ToolCallRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Finding, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { Effect, WitnessLine } from "../witness.ts";
import { allLines, copiedCalls, isDeleted, keyName } from "./observations.ts";
import { excusedEffects } from "./stopped-before-sending.ts";

/** Only calls that change something outside must happen once. */
function hasSideEffect({ effect }: Pick<ToolCallRecord, "effect">): boolean {
  return effect === "external" || effect === "memory";
}

function effectsIn(lines: readonly WitnessLine[]): Effect[] {
  return lines.filter((line): line is Effect => line.kind === "effect");
}

export const effectsAtMostOnce: Invariant = {
  name: "effects-at-most-once",
  promise: "A side effect happens at most once for each call.",
  judge: (evidence) => {
    const lines = allLines(evidence);
    const effects = effectsIn(lines).filter(hasSideEffect);
    const excused = excusedEffects(evidence, lines);
    const once = checkEach(Map.groupBy(effects, ({ key }) => key).values(), (ofKey) =>
      judgeKey(ofKey, excused),
    );
    // A key that hit the one window that fencing leaves open was not tested.
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
      ? ": its recovery is repeat"
      : recovery === "keyed" && real.some(({ keySeen }) => !keySeen)
        ? ": its recovery is keyed, but it never reads its key"
        : "";
  const where = real.map(({ life, attempt }) => `process ${life}, attempt ${attempt}`).join("; ");
  return wrong(
    `${tool} happened ${real.length} times for one call (${toolCallId}, key ${keyName(key)}; ${where})${why}`,
    tool,
  );
}

/** Every effect belongs to a call of the ledger, and a call has one key. */
function strayEffects(evidence: Evidence, effects: readonly Effect[]): readonly Problem[] {
  const { accounts } = evidence;
  const known = new Map(accounts.flatMap(({ calls }) => calls.map((call) => [call.idempotencyKey, call])));
  const unknown = [...new Map(effects.map((effect) => [effect.key, effect])).values()].filter(
    ({ key, toolCallId, runId }) => known.get(key)?.toolCallId !== toolCallId && !isDeleted(evidence, runId),
  );
  const several = [...Map.groupBy(effects, ({ toolCallId }) => toolCallId).values()].filter(
    (ofCall) => new Set(ofCall.map(({ key }) => key)).size > 1,
  );
  return [
    ...unknown.flatMap(({ tool, toolCallId, key }) =>
      wrong(
        `${tool} happened under the key ${keyName(key)}, but the ledger has no call ${toolCallId} with that key`,
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
  promise: "A call that is recorded as succeeded has happened, and one that is recorded as not run has not.",
  judge: (evidence) => {
    const lines = allLines(evidence);
    const excused = excusedEffects(evidence, lines);
    const byKey = Map.groupBy(effectsIn(lines), ({ key }) => key);
    const recorded = evidence.accounts.flatMap(callsWithKnownOutcome);
    return checkEach(recorded, (call) => {
      const effects = byKey.get(call.idempotencyKey) ?? [];
      return judgeOutcome(
        call,
        effects.filter(({ isDropped }) => !isDropped),
        excused,
      );
    });
  },
};

/** The calls whose receipt records whether they happened. A person's settlement is believed, and not checked. */
function callsWithKnownOutcome(account: RunAccount): readonly ToolCallRecord[] {
  const copied = copiedCalls(account);
  return account.calls.filter(({ receipt, toolCallId, namespace, ...call }) => {
    if (receipt === null || copied.has(toolCallId) || namespace === PROVIDER_NAMESPACE) return false;
    if (receipt.status === "cancelled" || receipt.status === "deduplicated") return true;
    return receipt.status === "succeeded" && OUTSIDE_SOURCES.has(receipt.source) && hasSideEffect(call);
  });
}

const OUTSIDE_SOURCES: ReadonlySet<string> = new Set(["tool", "reconciled", "late"]);

function judgeOutcome(
  { tool, toolCallId, idempotencyKey, recovery, status }: ToolCallRecord,
  real: readonly Effect[],
  excused: ReadonlySet<Effect>,
): readonly Problem[] {
  const which = `${tool} (${toolCallId}, key ${keyName(idempotencyKey)})`;
  if (status !== "succeeded")
    return real.length === 0
      ? FINE
      : wrong(`${which} is ${status}, so it must not run, but it happened anyway`, tool);
  if (real.length === 0)
    return wrong(`${which} is recorded as succeeded, but nothing happened outside`, tool);
  const counted = real.filter((effect) => !excused.has(effect)).length;
  return counted <= 1 || recovery === "repeat"
    ? FINE
    : wrong(`${which} is recorded as succeeded, but happened ${counted} times`, tool);
}

export const oneFingerprintPerKey: Invariant = {
  name: "one-fingerprint-per-key",
  promise: "Every call under one key is of the same tool with the same arguments.",
  judge: (evidence): Finding => {
    const seen = allLines(evidence).filter((line) => "fingerprint" in line);
    return checkEach(
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

import type { ToolPolicy } from "../../../core/call/tool-classification.ts";
import {
  RECOVERY_OPTIONS,
  stepsOf,
  suggestedRecovery,
  toolsOf,
} from "../../../engine/definition/known-tools.ts";
import type { Evidence } from "../evidence.ts";
import type { Scenario } from "../scenario.ts";
import type { SeenCall, WitnessLine } from "../witness.ts";
import type { Violation } from "./exploration-result.ts";

/** How to fix a violation, in sentences. `isOwn`: the invariant is one of the user's. */
export function adviceFor(
  { invariant, problems, evidence }: Violation,
  { isOwn }: { readonly isOwn: boolean },
): readonly string[] {
  const named = problems.flatMap(({ tool }) => (tool === undefined ? [] : [tool]));
  const tools = new Set(named.length > 0 || !isOwn ? named : repeatedTools(evidence));
  const isAboutEffects = isOwn || invariant.includes("effects-");
  const fixes = isAboutEffects ? [...tools].flatMap((tool) => fixFor(tool, evidence)) : [];
  if (fixes.length > 0) return fixes;
  return isOwn ? ownAdvice(evidence.scenario) : NO_TOOL_ADVICE;
}

const NO_TOOL_ADVICE = [
  "No tool is the cause. First check that each stand-in's answer depends only on the conversation and its input, and that the code of steps reads no clock, no random numbers and no state in memory: a new process has none of it.",
  "If that is so, it is a bug in Pawl: please report it, with the schedule.",
];

function ownAdvice({ pipeline }: Scenario): readonly string[] {
  const code = stepsOf(pipeline).filter(({ kind }) => kind === "run");
  if (code.length === 0) return [];
  const names = code.map(({ name }) => name).join(", ");
  return [
    `The code of a step (${names}) starts over after an interruption, and repeats everything it does outside of ctx.call: move that into a tool and call it with ctx.call, so that it has a receipt.`,
  ];
}

/** The tools with more than one effect under one key. */
function repeatedTools({ witness }: Evidence): readonly string[] {
  const effects = witness.filter((line) => line.kind === "effect" && !line.isDropped);
  const byKey = Map.groupBy(effects.filter(isCall), ({ key }) => key);
  return [...byKey.values()].flatMap(([first, second]) =>
    first !== undefined && second !== undefined && mayNotRepeat(first) ? [first.tool] : [],
  );
}

function mayNotRepeat({ effect }: SeenCall): boolean {
  return effect === "external" || effect === "memory";
}

function fixFor(tool: string, { witness }: Evidence): readonly string[] {
  const lines = witness.filter(isCall).filter((line) => line.tool === tool);
  const [first] = lines;
  if (first === undefined) return [];
  const declared = `${tool} is ${JSON.stringify(first.effect)} with recovery ${JSON.stringify(first.recovery)}`;
  switch (first.recovery) {
    case "repeat":
      return [`${declared}: after a crash during the call, it runs again. ${FIX_REPEAT}`];
    case "keyed":
      return lines.some((line) => line.kind === "effect" && !line.keySeen)
        ? [`${declared}, but never reads call.idempotencyKey. ${FIX_KEYED}`]
        : [];
    case "reconcile":
      return hasOverlooked(lines)
        ? [`${declared}, but its reconcile returned "absent" for a call that had happened. ${FIX_RECONCILE}`]
        : [];
    case "opaque":
      return [`${declared}: it runs again only if a person decides so. ${FIX_OPAQUE}`];
  }
}

const FIX_REPEAT =
  'Set recovery: "keyed" and pass call.idempotencyKey on, so that the outside system drops the duplicate; or add a reconcile that looks the call up, and set recovery: "reconcile"; or set effect: "read_only" if it changes nothing. If none of these is possible, leave recovery out: then a person is asked.';

const FIX_KEYED =
  "Pass the key on with the request, so that the outside system drops the duplicate. If that system takes no key, add a reconcile that looks the call up; or leave recovery out: then a person is asked.";

const FIX_RECONCILE =
  'Let it look the call up in the outside system, best by call.idempotencyKey, and return "unknown" whenever it cannot be sure.';

const FIX_OPAQUE = 'Check what `person.inDoubt` answers, and let it look outside before it answers "retry".';

/** True if a look-up missed an effect that had happened. */
function hasOverlooked(lines: readonly SeenLine[]): boolean {
  return lines.some(
    (line, index) =>
      line.kind === "looked" &&
      line.found === false &&
      lines.slice(0, index).some((earlier) => earlier.kind === "effect" && earlier.key === line.key),
  );
}

type SeenLine = Extract<WitnessLine, SeenCall>;

function isCall(line: WitnessLine): line is SeenLine {
  return "tool" in line;
}

/** The change to a tool's definition that would let it recover without a person. */
export function recoveryAdvice({ pipeline, runner }: Scenario, tool: string): string {
  const policy: ToolPolicy = runner?.policy ?? {};
  const known = toolsOf(pipeline, policy).find(({ name }) => name === tool);
  if (known === undefined) return RECOVERY_OPTIONS;
  switch (known.classification.recovery) {
    case "reconcile":
      return "let its reconcile find a call by its key: it could not tell";
    case "keyed":
      return "set keyValidForMs to how long its keys are valid: they had expired";
    case "repeat":
    case "opaque":
      return suggestedRecovery(known) ?? RECOVERY_OPTIONS;
  }
}

import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { betterLine, RECOVERY_WAYS, stepsOf, toolsOf } from "../../engine/definition/known-tools.ts";
import type { Evidence } from "./evidence.ts";
import type { Violation } from "./exploration-result.ts";
import type { Scenario } from "./scenario.ts";
import type { SeenCall, WitnessLine } from "./witness.ts";

/** How to mend what broke a promise, in sentences. `isOwn`: the promise is one of the user's. */
export function adviceFor({ invariant, problems, evidence }: Violation, isOwn: boolean): readonly string[] {
  const named = problems.flatMap(({ tool }) => (tool === undefined ? [] : [tool]));
  const tools = new Set(named.length > 0 || !isOwn ? named : repeatedTools(evidence));
  const isAboutEffects = isOwn || invariant.includes("effects-");
  const mends = isAboutEffects ? [...tools].flatMap((tool) => mend(tool, evidence)) : [];
  if (mends.length > 0) return mends;
  return isOwn ? ownAdvice(evidence.scenario) : PAWLS_OWN;
}

const PAWLS_OWN = [
  "No tool is to blame. See first that the stand-ins answer by the conversation and by what they were asked alone, and that the code of steps reads no clock, no chance and nothing that it keeps in memory: a new process has none of it.",
  "If so, it is a mistake in Pawl: please report it, with the schedule.",
];

function ownAdvice({ pipeline }: Scenario): readonly string[] {
  const code = stepsOf(pipeline).filter(({ kind }) => kind === "run");
  if (code.length === 0) return [];
  const names = code.map(({ name }) => name).join(", ");
  return [
    `The code of a step (${names}) begins anew where it was interrupted. What it does outside of ctx.call is then done again: move it into a tool and call that, so that it has a receipt.`,
  ];
}

/** What happened more than once under one key. */
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

function mend(tool: string, { witness }: Evidence): readonly string[] {
  const lines = witness.filter(isCall).filter((line) => line.tool === tool);
  const [first] = lines;
  if (first === undefined) return [];
  const declared = `${tool} is ${JSON.stringify(first.effect)} with recovery ${JSON.stringify(first.recovery)}`;
  switch (first.recovery) {
    case "repeat":
      return [`${declared}: after a crash in the middle of it, it runs again. ${MENDS_OF_REPEAT}`];
    case "keyed":
      return lines.some((line) => line.kind === "effect" && !line.keySeen)
        ? [`${declared}, and never looks at call.idempotencyKey. ${MENDS_OF_KEYED}`]
        : [];
    case "reconcile":
      return hasOverlooked(lines)
        ? [`${declared}, and its reconcile said "absent" of what had happened. ${MENDS_OF_RECONCILE}`]
        : [];
    case "opaque":
      return [`${declared}: it runs again only where a person says so. ${MENDS_OF_OPAQUE}`];
  }
}

const MENDS_OF_REPEAT =
  'Say recovery: "keyed" and hand call.idempotencyKey on, so that the other side drops the second; or give it a reconcile that looks the call up, and say recovery: "reconcile"; or say effect: "read_only" if it changes nothing. Without any of them, leave recovery out: then a person is asked.';

const MENDS_OF_KEYED =
  "Hand the key on with what it sends, so that the other side drops the second. If the other side takes no key, give it a reconcile that looks the call up; or leave recovery out: then a person is asked.";

const MENDS_OF_RECONCILE =
  'Let it look for what the other side keeps of the call, best under call.idempotencyKey, and return "unknown" wherever it cannot be sure.';

const MENDS_OF_OPAQUE = 'See what `person.inDoubt` answers, and let it look outside before it says "retry".';

/** A look-up did not find what was there. */
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

/** What to write into a tool that people were asked about, so that it recovers by itself. */
export function recoveryAdvice({ pipeline, runner }: Scenario, tool: string): string {
  const policy: ToolPolicy = runner?.policy ?? {};
  const known = toolsOf(pipeline, policy).find(({ name }) => name === tool);
  if (known === undefined) return RECOVERY_WAYS;
  switch (known.classification.recovery) {
    case "reconcile":
      return "let its reconcile find a call by its key: it could not tell";
    case "keyed":
      return "say in keyValidForMs how long its keys hold: they had run out";
    case "repeat":
    case "opaque":
      return betterLine(known) ?? RECOVERY_WAYS;
  }
}

import { canonicalJson } from "../canonical-json.ts";
import { ConfigurationError } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { normaliseKeyName } from "../naming/key-name.ts";
import { ownProperty } from "../own-property.ts";
import { BLUEPRINT, type Blueprint, blueprintDefinitions } from "./blueprint.ts";
import { checkReferences } from "./blueprint-references.ts";
import { BUDGET_RANGES, type Budgets } from "./budgets.ts";
import {
  anything,
  type Field,
  fieldPaths,
  findNotJson,
  type KnownTools,
  listOf,
  objectOf,
  pathText,
  type Reading,
  type SpecPath,
  type SpecProblem,
  single,
} from "./run-spec-field.ts";
import {
  ACTION,
  CONDITION,
  DOMAIN,
  FINAL_OUTPUT,
  limitOf,
  OBJECTIVE,
  OUTPUT,
  PIPELINE,
  RUN_ID_MARKS,
  WORKSPACE,
  YES_OR_NO,
} from "./run-spec-rules.ts";

export type { KnownTools, SpecProblem } from "./run-spec-field.ts";

/**
 * The contract of a run: what to do, within which limits, and when to ask a person. It never changes during the run.
 * `parseRunSpec` makes one from what a person wrote, with every field filled in.
 */
export type RunSpec = {
  readonly objective: string;
  /** The pipeline to run: its name, or a blueprint; null if the caller chooses it. */
  readonly pipeline: string | Blueprint | null;
  /** The input of the pipeline; null if absent. */
  readonly input: Json;
  readonly constraints: {
    readonly mustCiteSources: boolean;
    readonly noDuplicateExternalActions: boolean;
    readonly allowedDomains: readonly string[];
    readonly forbiddenActions: readonly string[];
  };
  readonly budgets: Budgets;
  /** The names of the conditions that must all hold when the run ends. */
  readonly stopConditions: readonly string[];
  readonly escalation: {
    readonly askHumanOnAmbiguousRecipient: boolean;
    readonly askHumanOnAuthFailure: boolean;
    readonly askHumanOnRepeatedFailures: boolean;
    readonly askHumanOnBudgetReached: boolean;
  };
  readonly artifacts: {
    readonly workspaceDir: string | null;
    readonly expectedOutputs: readonly string[];
    /** The output that is the result of the run; null if the contract does not say. */
    readonly finalOutput: string | null;
  };
};

/** The name of the pipeline of a RunSpec. */
export function pipelineName({ pipeline }: Pick<RunSpec, "pipeline">): string | null {
  return typeof pipeline === "string" || pipeline === null ? pipeline : pipeline.name;
}

const NO_VALUE = { value: null };
const NO = { value: false };
const YES = { value: true };

/** The name of a pipeline of the configuration, or a blueprint. */
function nameOrBlueprint(): Field<RunSpec["pipeline"]> {
  const description = "The pipeline to run: its name in pawl.config.ts, or agents and steps.";
  const name = single(PIPELINE, NO_VALUE, "A pipeline by its name in pawl.config.ts.");
  return {
    schema: () => ({ description, anyOf: [name.schema(), BLUEPRINT.schema()], default: null }),
    absent: NO_VALUE,
    fields: BLUEPRINT.fields,
    read(value, path, reading) {
      if (!isJsonObject(value)) return name.read(value, path, reading);
      const notJson = findNotJson(value);
      if (notJson !== null) {
        reading.report([...path, ...notJson.path], notJson.message);
        return undefined;
      }
      let isSound = true;
      const report: Reading["report"] = (...problem) => {
        isSound = false;
        reading.report(...problem);
      };
      // A misplaced field inside a blueprint never belongs outside it.
      const inside = { ...reading, report, fieldPath: () => null };
      const blueprint = BLUEPRINT.read(value, path, inside);
      checkReferences(value, path, inside, () => isSound);
      return blueprint;
    },
  };
}

/** The single definition of a RunSpec: the parser, the JSON Schema and the help in editors are all derived from it. */
const RUN_SPEC: Field<RunSpec> = objectOf<RunSpec>(
  {
    objective: single(OBJECTIVE, null, "What the run must achieve, in words that the model and people read."),
    pipeline: nameOrBlueprint(),
    input: anything(null, "The input of the pipeline: any JSON."),
    constraints: objectOf<RunSpec["constraints"]>(
      {
        mustCiteSources: single(
          YES_OR_NO,
          NO,
          "Whether a report must cite the fetched pages that it uses, and no page that was not fetched.",
        ),
        noDuplicateExternalActions: single(
          YES_OR_NO,
          NO,
          "Whether each effect on an outside system happens only once in the run, even if it is requested again.",
        ),
        allowedDomains: listOf(
          DOMAIN,
          'hosts such as "example.com"',
          "The only hosts that the built-in tools, guardedFetch and tools that declare their URLs connect to, at ports 80 and 443 or at the given port: example.com, *.example.com, example.com:8443, example.com:* (every port), intranet.corp!private (a name whose address is private). An empty list allows every public host. A tool with a fetch of its own is restricted only if the operator has set policy.network to enforce; a tool with its own sockets or processes never is.",
        ),
        forbiddenActions: listOf(
          ACTION,
          'names of tools or patterns such as "delete_*"',
          "Tools that must not run, by any of their names or by pattern: send_email, delete_*, files/delete_file, github:*. A name that no tool of the run has is an error.",
        ),
      },
      "What the run must and must not do. Enforced by the runtime, not by the prompt.",
    ),
    budgets: objectOf<Budgets>(
      {
        maxWallclockMinutes: single(
          limitOf(BUDGET_RANGES.maxWallclockMinutes),
          NO_VALUE,
          "The maximum duration of the run, in minutes from its start.",
        ),
        maxSteps: single(limitOf(BUDGET_RANGES.maxSteps), NO_VALUE, "How many steps the run may start."),
        maxToolCalls: single(
          limitOf(BUDGET_RANGES.maxToolCalls),
          NO_VALUE,
          "How many tool calls the run may make.",
        ),
        maxRetriesPerToolCall: single(
          limitOf(BUDGET_RANGES.maxRetriesPerToolCall),
          NO_VALUE,
          "How often one tool call may be retried after its first attempt.",
        ),
        maxSameErrorRepeats: single(
          limitOf(BUDGET_RANGES.maxSameErrorRepeats),
          NO_VALUE,
          "How often in a row the same error may occur before the run asks a person or fails.",
        ),
        maxTokens: single(
          limitOf(BUDGET_RANGES.maxTokens),
          NO_VALUE,
          "How many tokens, in and out, models may use.",
        ),
        maxCostUsd: single(
          limitOf(BUDGET_RANGES.maxCostUsd),
          NO_VALUE,
          "How much models may cost, in US dollars.",
        ),
        countWaitingTime: single(
          YES_OR_NO,
          NO,
          "Whether time spent waiting for a person counts towards maxWallclockMinutes.",
        ),
      },
      "The limits of the run, over all its resumes together. A limit that is absent or null does not apply.",
    ),
    stopConditions: listOf(
      CONDITION,
      "names of conditions",
      "Conditions that must hold when the run ends, by their names in code.",
    ),
    escalation: objectOf<RunSpec["escalation"]>(
      {
        askHumanOnAmbiguousRecipient: single(YES_OR_NO, YES, "Ask a person when a recipient is not clear."),
        askHumanOnAuthFailure: single(YES_OR_NO, YES, "Ask a person when a login or token is refused."),
        askHumanOnRepeatedFailures: single(
          YES_OR_NO,
          YES,
          "Ask a person when the same error keeps occurring.",
        ),
        askHumanOnBudgetReached: single(
          YES_OR_NO,
          NO,
          "Ask a person for a higher limit when a budget is reached, instead of failing.",
        ),
      },
      "When the run stops to ask a person.",
    ),
    artifacts: objectOf<RunSpec["artifacts"]>(
      {
        workspaceDir: single(
          WORKSPACE,
          NO_VALUE,
          "The directory for the run's files; <id> and <run_id> are replaced by the id of the run.",
        ),
        expectedOutputs: listOf(
          OUTPUT,
          'paths of files such as "report.pdf"',
          "Files that must exist when the run ends, relative to the workspace.",
        ),
        finalOutput: single(
          FINAL_OUTPUT,
          NO_VALUE,
          "The file that is the result of the run, which must exist when it ends. Without it: the only expected output, if there is exactly one.",
        ),
      },
      "The files of the run.",
    ),
  },
  "The contract of a run: what to do, within which limits, and when to ask a person.",
  { $schema: { type: "string", description: "The JSON Schema that an editor checks this file with." } },
);

const FIELD_PATHS = fieldPaths(RUN_SPEC.fields);

export type ParsedRunSpec =
  | { readonly ok: true; readonly spec: RunSpec }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] };

/**
 * Parses a RunSpec as a person writes it: in camelCase, in snake_case or in both, with only the objective required. All
 * mistakes are found at once. Parsing the result again returns the same. The tools that a blueprint names are checked if
 * `tools` is given.
 *
 * @example
 * parseRunSpec({ objective: "Write the report", budgets: { max_steps: 50 } });
 */
export function parseRunSpec(value: unknown, tools: KnownTools | null = null): ParsedRunSpec {
  const problems: SpecProblem[] = [];
  const spec = RUN_SPEC.read(value, [], {
    report: (path, message) => problems.push({ path, message }),
    fieldPath: (name) => FIELD_PATHS.get(normaliseKeyName(name)) ?? null,
    whole: value,
    tools,
  });
  const notJson = findNotJson(value);
  if (notJson !== null && !isReported(notJson, problems)) problems.push(notJson);
  return spec !== undefined && problems.length === 0 ? { ok: true, spec } : { ok: false, problems };
}

/** `parseRunSpec` for a caller that needs one: throws a single error that lists every mistake. */
export function assertRunSpec(value: unknown): RunSpec {
  const parsed = parseRunSpec(value);
  if (parsed.ok) return parsed.spec;
  const lines = parsed.problems.map(({ path, message }) => `${pathText(path) || "the RunSpec"}: ${message}`);
  throw new ConfigurationError(
    `The RunSpec has ${lines.length === 1 ? "a mistake" : `${lines.length} mistakes`}:\n${lines.join("\n")}`,
    { problems: parsed.problems },
  );
}

/** True if the field itself was refused, or a value inside it for the same reason: depth is counted from different roots. */
function isReported({ path, message }: SpecProblem, problems: readonly SpecProblem[]): boolean {
  return problems.some(
    (other) => isWithin(path, other.path) || (other.message === message && isWithin(other.path, path)),
  );
}

function isWithin(path: SpecPath, outer: SpecPath): boolean {
  return outer.every((segment, index) => path[index] === segment);
}

export type SpecChange = { readonly path: string; readonly was: Json; readonly is: Json };

/** The differences between two RunSpecs. A run keeps the one it began with; a caller that passes another one sees these. */
export function describeSpecChanges(was: RunSpec, is: RunSpec): readonly SpecChange[] {
  return changesBetween(was, is, []);
}

/** Objects with the same fields are compared field by field, everything else as a whole. A blueprint is always compared in depth. */
function changesBetween(was: Json, is: Json, path: SpecPath): readonly SpecChange[] {
  const isInBlueprint = path[0] === "pipeline";
  if (isJsonObject(was) && isJsonObject(is) && (isInBlueprint || haveSameFields(was, is))) {
    return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((key) =>
      changesBetween(ownProperty(was, key) ?? null, ownProperty(is, key) ?? null, [...path, key]),
    );
  }
  if (isInBlueprint && Array.isArray(was) && Array.isArray(is) && was.length === is.length) {
    const now = is as readonly Json[];
    return (was as readonly Json[]).flatMap((each, index) =>
      changesBetween(each, now[index] ?? null, [...path, index]),
    );
  }
  return canonicalJson(was) === canonicalJson(is) ? [] : [{ path: pathText(path), was, is }];
}

function haveSameFields(a: JsonObject, b: JsonObject): boolean {
  return (
    Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => Object.hasOwn(b, key))
  );
}

/** The directory of one run: `runs/<id>` is `runs/q-1` for the run q-1. */
export function runDirectory(workspaceDir: string, runId: string): string {
  return workspaceDir.replace(RUN_ID_MARKS, () => runId);
}

/** The JSON Schema of a job file, for editors: both spellings, each field with its help. Draft 2020-12. */
export function runSpecJsonSchema(): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Pawl RunSpec",
    ...RUN_SPEC.schema(),
    $defs: blueprintDefinitions(),
  };
}

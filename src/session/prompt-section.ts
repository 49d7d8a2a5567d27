import { ConfigurationError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { planSlice } from "./plan.ts";
import { planTools } from "./plan-tools.ts";
import { PLANNING_GUIDANCE, PLANNING_REQUIREMENT, type PlanningStrategy } from "./planning-guidance.ts";
import type { SessionTool } from "./session-tool.ts";
import type { SessionView } from "./session-view.ts";
import type { Slice } from "./slice.ts";
import { fillIn, parametersOf } from "./template-text.ts";

/** `summary`: the section's summary is shown until the agent opens it. */
export type Visibility = "full" | "summary";

const SECTION = Symbol.for("pawl.section");

/** A titled part of a prompt. `P` are the prompt's parameters. */
export type Section<P> = {
  readonly [SECTION]: true;
  readonly key: string;
  readonly title: string;
  readonly visibility: Visibility;
  readonly summary: string | null;
  /** The parameters in its text. */
  readonly parameters: readonly string[];
  readonly slices: readonly Slice[];
  readonly tools: readonly SessionTool[];
  /** The part of it that the fingerprint covers, besides key, title, visibility and summary. */
  readonly document: JsonObject;
  /** The part of its text that is known before it is rendered. */
  readonly text: string;
  readonly isEnabled: (session: SessionView, params: P) => boolean;
  readonly render: (session: SessionView, params: P) => string;
};

/** The options of every section. */
export type SectionOptions<P> = {
  readonly key: string;
  readonly title: string;
  /** "full" by default. */
  readonly visibility?: Visibility;
  /** Shown in place of a closed section. */
  readonly summary?: string;
  /** Decides whether it is shown at all; by default it always is. */
  readonly enabled?: (session: SessionView, params: P) => boolean;
};

/**
 * A section of text. `$name` and `${name}` are parameters, `$$` is a dollar.
 *
 * @example
 * markdown({ key: "objective", title: "Objective", template: "Find out about $topic." });
 */
export function markdown<P = unknown>(
  options: SectionOptions<P> & { readonly template: string },
): Section<P> {
  const { template } = options;
  assertText(options.key, "template", template);
  return section(options, {
    parameters: parametersOf(template, `The template of section ${options.key}`),
    document: { kind: "markdown", template },
    text: template,
    render: (_session, params) =>
      fillIn(template, (name) => parameterText((params as { readonly [name: string]: unknown })[name])),
  });
}

/**
 * A section that is rendered from the session each time. The fingerprint does not cover the function: change `version` when
 * its text changes in a way that running conversations must not continue with.
 * Annotate the parameters that it uses: `(session, { topic }: { topic: string }) => …`.
 *
 * @example
 * dynamic({
 *   key: "progress",
 *   title: "Progress",
 *   slices: [planSlice],
 *   render: (session) => session.query(planSlice).latest()?.objective ?? "No progress yet.",
 * });
 */
export function dynamic<P = unknown>(
  options: SectionOptions<P> & {
    /** Pure: it reads the session and the parameters, and nothing else. */
    readonly render: (session: SessionView, params: P) => string;
    readonly version?: string | number;
    /** The slices that it reads. The session of an agent with this prompt gets them. */
    readonly slices?: readonly Slice[];
  },
): Section<P> {
  if (typeof options.render !== "function")
    throw new ConfigurationError(`Section ${options.key} needs a render function that returns its text.`);
  return section(options, {
    slices: options.slices ?? [],
    document: { kind: "dynamic", version: options.version ?? null },
    render: options.render,
  });
}

/** The section that makes the agent plan its work: the strategy, the requirement, the plan's slice and its tools. */
export function planning(
  options: Partial<Pick<SectionOptions<unknown>, "key" | "title" | "enabled">> & {
    /** "plan_act_reflect" by default. */
    readonly strategy?: PlanningStrategy;
  } = {},
): Section<unknown> {
  const { strategy = "plan_act_reflect", ...rest } = options;
  if (!Object.hasOwn(PLANNING_GUIDANCE, strategy)) {
    const known = Object.keys(PLANNING_GUIDANCE).join(", ");
    throw new ConfigurationError(`${JSON.stringify(strategy)} is no planning strategy: use one of ${known}.`);
  }
  const text = `${PLANNING_GUIDANCE[strategy]}\n\n${PLANNING_REQUIREMENT}`;
  return section(
    { key: "planning", title: "Planning", ...rest },
    {
      slices: [planSlice],
      tools: planTools(),
      document: { kind: "planning", strategy, text },
      text,
      render: () => text,
    },
  );
}

export function isSection(value: unknown): value is Section<never> {
  return typeof value === "object" && value !== null && SECTION in value;
}

type SectionParts<P> = Pick<Section<P>, "document" | "render"> &
  Partial<Pick<Section<P>, "parameters" | "slices" | "tools" | "text">>;

function section<P>(options: SectionOptions<P>, parts: SectionParts<P>): Section<P> {
  const { key, title, visibility = "full", summary = null, enabled = () => true } = options;
  assertPromptName("section's key", key);
  assertText(key, "title", title);
  if (visibility !== "full" && visibility !== "summary")
    throw new ConfigurationError(
      `Section ${key} has the visibility ${JSON.stringify(visibility)}: use "full" or "summary".`,
    );
  if (visibility === "summary") assertText(key, "summary", summary);
  if (typeof enabled !== "function")
    throw new ConfigurationError(`The enabled of section ${key} is not a function: give one, or none.`);
  return Object.freeze({
    parameters: [],
    slices: [],
    tools: [],
    text: "",
    ...parts,
    [SECTION]: true as const,
    key,
    title,
    visibility,
    summary,
    isEnabled: enabled,
  });
}

const NAME = /^[A-Za-z][\w.-]{0,99}$/;

/** Namespaces, keys of prompts and keys of sections. */
export function assertPromptName(what: string, name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return;
  throw new ConfigurationError(
    `${JSON.stringify(name) ?? String(name)} cannot be a ${what}: use 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter.`,
  );
}

function assertText(key: string, what: string, text: unknown): void {
  if (typeof text === "string" && text.trim() !== "") return;
  throw new ConfigurationError(`Section ${key} needs a ${what}: give a text that is not empty.`);
}

/** Texts unchanged, everything else as JSON. */
function parameterText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

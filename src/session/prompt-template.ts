import type { z } from "zod";
import { ConfigurationError } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { assertOptions, type OptionNames } from "../core/naming/option-names.ts";
import { frozenJson } from "./frozen-json.ts";
import { openSectionsSlice, openSectionsTool } from "./open-sections.ts";
import { PromptParameters } from "./prompt-parameters.ts";
import { assertPromptName, isSection, type Section } from "./prompt-section.ts";
import type { SessionTool } from "./session-tool.ts";
import type { SessionView } from "./session-view.ts";
import type { Slice } from "./slice.ts";
import { SliceSet } from "./slice-set.ts";

const TEMPLATE = Symbol.for("pawl.prompt-template");
const BOUND = Symbol.for("pawl.bound-prompt");

/** A prompt that is rendered from the session: a fresh start and a resume use the same one. `P` are its parameters. */
export type PromptTemplate<P = never> = {
  readonly [TEMPLATE]: true;
  /** `namespace:key@version`. */
  readonly id: string;
  /** The slices that its sections read; the session must have them. */
  readonly slices: readonly Slice[];
  /** The tools of its sections, and `open_sections` if one of them is a summary. */
  readonly tools: readonly SessionTool[];
  /** The part that the fingerprint covers: the template, never a rendering and never a function's source. */
  readonly document: JsonObject;
  /** All texts that are known before it is rendered. */
  readonly staticText: string;
  /** Pure: the same session and parameters result in the same text. Parameters that are no object count as none. */
  render(session: SessionView, params: unknown): string;
  bind(values: P | ((input: Json) => P)): BoundPrompt;
};

/** A template with its parameters. */
export type BoundPrompt = {
  readonly [BOUND]: true;
  readonly template: PromptTemplate;
  /** Null if a function derives them from the run's input. */
  readonly values: Json | null;
  render(session: SessionView, input: Json): string;
};

export type PromptTemplateDefinition<S extends z.ZodObject> = {
  readonly namespace: string;
  readonly key: string;
  /** Part of the fingerprint: raise it when the prompt changes in a way that its texts do not show. */
  readonly version: string | number;
  readonly parameters?: S;
  readonly sections: readonly Section<z.infer<S>>[];
};

const TEMPLATE_NAMES = {
  namespace: true,
  key: true,
  version: true,
  parameters: true,
  sections: true,
} satisfies OptionNames<PromptTemplateDefinition<z.ZodObject>>;

/**
 * A prompt in sections.
 *
 * @example
 * const prompt = promptTemplate({
 *   namespace: "tasks",
 *   key: "execute",
 *   version: 1,
 *   parameters: z.object({ objective: z.string() }),
 *   sections: [markdown({ key: "objective", title: "Objective", template: "$objective" }), planning()],
 * });
 * prompt.bind({ objective: "Write the report" });
 */
export function promptTemplate<S extends z.ZodObject = z.ZodObject<Record<never, never>>>(
  definition: PromptTemplateDefinition<S>,
): PromptTemplate<z.input<S>> {
  assertOptions("The argument of promptTemplate", definition, TEMPLATE_NAMES);
  const { namespace, key, version, sections } = definition;
  const id = promptId(namespace, key, version);
  assertSections(id, sections);
  const parameters = new PromptParameters(id, definition.parameters ?? null, sections);
  const closable = sections.filter(({ visibility }) => visibility === "summary").map((each) => each.key);
  const slices = [
    ...sections.flatMap((each) => each.slices),
    ...(closable.length > 0 ? [openSectionsSlice] : []),
  ];
  const tools = [
    ...sections.flatMap((each) => each.tools),
    ...(closable.length > 0 ? [openSectionsTool(closable)] : []),
  ];
  const template: PromptTemplate<z.input<S>> = {
    [TEMPLATE]: true,
    id,
    slices: [...new SliceSet(slices)],
    tools: [...new Set(tools)],
    document: frozenJson({
      namespace,
      key,
      version,
      parameters: parameters.jsonSchema,
      sections: sections.map(documentOf),
    }) as JsonObject,
    staticText: sections.flatMap((each) => [each.title, each.text, each.summary ?? ""]).join("\n\n"),
    render: (session, params) => {
      const view = readOnly(session, id);
      const values = parameters.parse(params);
      const texts = sections.flatMap((each) => renderSection(each, view, values, id));
      return texts.join("\n\n");
    },
    bind: (values) => bindPrompt(template, parameters, values),
  };
  return Object.freeze(template);
}

export function isPromptTemplate(value: unknown): value is PromptTemplate {
  return typeof value === "object" && value !== null && TEMPLATE in value;
}

export function isBoundPrompt(value: unknown): value is BoundPrompt {
  return typeof value === "object" && value !== null && BOUND in value;
}

function bindPrompt<P>(
  template: PromptTemplate<P>,
  parameters: PromptParameters,
  values: P | ((input: Json) => P),
): BoundPrompt {
  if (isFunction(values))
    return Object.freeze({
      [BOUND]: true,
      template,
      values: null,
      render: (session, input) => template.render(session, values(input)),
    } satisfies BoundPrompt);
  const bound = frozenJson(values, `The values of prompt ${template.id}`);
  // Fail now rather than at the first turn.
  parameters.parse(bound);
  return Object.freeze({
    [BOUND]: true,
    template,
    values: bound,
    render: (session) => template.render(session, bound),
  } satisfies BoundPrompt);
}

function isFunction<P>(values: P | ((input: Json) => P)): values is (input: Json) => P {
  return typeof values === "function";
}

function promptId(namespace: unknown, key: unknown, version: unknown): string {
  assertPromptName("prompt's namespace", namespace);
  assertPromptName("prompt's key", key);
  const isVersion =
    (typeof version === "string" && /^[\w.+-]{1,100}$/.test(version)) || Number.isSafeInteger(version);
  if (!isVersion)
    throw new ConfigurationError(
      `Prompt ${String(namespace)}:${String(key)} needs a version: give a whole number, or a text such as "2.1".`,
    );
  return `${String(namespace)}:${String(key)}@${String(version)}`;
}

function assertSections<P>(id: string, sections: readonly Section<P>[]): void {
  if (!Array.isArray(sections) || sections.length === 0)
    throw new ConfigurationError(`Prompt ${id} has no sections: give at least one.`);
  if (!sections.every(isSection))
    throw new ConfigurationError(
      `One of the sections of prompt ${id} is not a section: make it with markdown, dynamic or planning.`,
    );
  const keys = sections.map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined)
    throw new ConfigurationError(`Prompt ${id} has two sections with the key ${twice}: rename one of them.`);
}

function documentOf<P>({ key, title, visibility, summary, document }: Section<P>): JsonObject {
  return { ...document, key, title, visibility, summary };
}

function renderSection<P>(
  section: Section<P>,
  session: SessionView,
  params: P,
  id: string,
): readonly string[] {
  const isEnabled: unknown = section.isEnabled(session, params);
  if (typeof isEnabled !== "boolean")
    throw new ConfigurationError(
      `The enabled of section ${section.key} of prompt ${id} returned ${typeof isEnabled}: return true or false.`,
    );
  if (!isEnabled) return [];
  const isOpen =
    section.visibility === "full" || session.query(openSectionsSlice).all().includes(section.key);
  const body = isOpen ? fullBody(section, session, params, id) : summaryBody(section);
  return [`## ${section.title}\n\n${body.trim()}`.trim()];
}

function fullBody<P>(section: Section<P>, session: SessionView, params: P, id: string): string {
  const body: unknown = section.render(session, params);
  if (typeof body === "string") return body;
  const what = body instanceof Promise ? "a promise" : body === null ? "null" : typeof body;
  throw new ConfigurationError(
    `Section ${section.key} of prompt ${id} rendered ${what}: return its text, at once.`,
  );
}

function summaryBody<P>({ key, summary }: Section<P>): string {
  return `${summary ?? ""}\n\n(This is a summary: call open_sections with ${JSON.stringify(key)} to see the rest.)`;
}

/** If rendering changed the session, rendering twice would not return the same text. */
function readOnly(session: SessionView, id: string): SessionView {
  const { id: sessionId, createdAt, tags } = session;
  return {
    id: sessionId,
    createdAt,
    tags,
    query: (slice) => session.query(slice),
    dispatch: ({ type }) => {
      throw new ConfigurationError(
        `Prompt ${id} dispatched the event ${type} while it was rendered: dispatch from a tool instead.`,
      );
    },
  };
}

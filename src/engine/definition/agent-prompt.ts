import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import {
  type BoundPrompt,
  isBoundPrompt,
  isPromptTemplate,
  type PromptTemplate,
} from "../../session/prompt-template.ts";
import type { SessionTool } from "../../session/session-tool.ts";
import type { SessionView } from "../../session/session-view.ts";
import type { Slice } from "../../session/slice.ts";

/** The instructions of an agent: a text, or a prompt template that is rendered from the session in every turn. */
export type Instructions = string | PromptTemplate<never> | BoundPrompt;

/** The instructions of an agent, as the engine uses them. */
export type AgentPrompt = {
  /** The template's id, for people; empty for a plain text. */
  readonly id: string;
  /** The part that the fingerprint covers: the text, or the template and its bound values; never a rendering. */
  readonly document: Json;
  /** All text that is known before rendering. */
  readonly staticText: string;
  /** True if the text is the same in every turn. */
  readonly isFixed: boolean;
  readonly slices: readonly Slice[];
  readonly tools: readonly SessionTool[];
  readonly render: (session: SessionView, input: Json) => string;
};

export function agentPrompt(agent: string, instructions: Instructions): AgentPrompt {
  if (typeof instructions === "string")
    return {
      id: "",
      document: instructions,
      staticText: instructions,
      isFixed: true,
      slices: [],
      tools: [],
      render: () => instructions,
    };
  if (isPromptTemplate(instructions))
    return templatePrompt(instructions, {}, (...args) => instructions.render(...args));
  if (isBoundPrompt(instructions)) {
    const { template, values } = instructions;
    return templatePrompt(template, values === null ? {} : { values }, (...args) =>
      instructions.render(...args),
    );
  }
  throw new ConfigurationError(
    `The instructions of agent ${agent} are neither a text nor a prompt: give a string, or make one with promptTemplate({ … }).`,
  );
}

function templatePrompt(
  { id, document, staticText, slices, tools }: PromptTemplate,
  bound: { readonly values?: Json },
  render: AgentPrompt["render"],
): AgentPrompt {
  return { id, document: { ...document, ...bound }, staticText, isFixed: false, slices, tools, render };
}

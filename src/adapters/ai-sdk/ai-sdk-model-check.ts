import { ConfigurationError } from "../../core/errors.ts";
import { kindOf } from "../../core/naming/option-names.ts";

const EXAMPLE = 'openai("gpt-5.2")';

/** Checks when an agent is made that its model is one: later the mistake would fail a run. */
export function assertModel(agent: string, model: unknown): void {
  const problem = modelProblem(model);
  if (problem !== null) throw new ConfigurationError(`Agent ${agent} ${problem}`);
}

function modelProblem(model: unknown): string | null {
  if (model === undefined || model === null) return `has no model: give it an AI SDK model, ${EXAMPLE}.`;
  if (typeof model === "string") return gatewayIdProblem(model);
  if (typeof model === "function")
    return `has a function as its model: if it is a provider, call it with the id of a model, ${EXAMPLE}.`;
  if (typeof model !== "object" || model instanceof Promise)
    return `has ${kindOf(model)} as its model: give it an AI SDK model, ${EXAMPLE}.`;
  const { provider, modelId, respond, doGenerate } = { ...shape(model) };
  const isNamed = typeof provider === "string" && typeof modelId === "string";
  if (isNamed && (typeof respond === "function" || typeof doGenerate === "function")) return null;
  return `has a model that is not a language model (${kindOf(model)}): give it an AI SDK model, ${EXAMPLE}, or an object with provider, modelId and respond.`;
}

/** The members may be getters, or on the prototype. */
function shape(model: object): { readonly [name: string]: unknown } {
  const given = model as { readonly [name: string]: unknown };
  const { provider, modelId, respond, doGenerate } = given;
  return { provider, modelId, respond, doGenerate };
}

/** A text is the id of a model of the AI Gateway, unless a default provider is set; such ids name the provider. */
function gatewayIdProblem(id: string): string | null {
  if (globalThis.AI_SDK_DEFAULT_PROVIDER !== undefined || /^[^/\s]+\/\S+$/.test(id)) return null;
  const example = /^\S+$/.test(id) ? `openai/${id}` : "openai/gpt-5.2";
  return `has the model ${JSON.stringify(id)}: a text is the id of a model at the AI Gateway and begins with its provider, such as ${JSON.stringify(example)}; or give an AI SDK model, ${EXAMPLE}.`;
}

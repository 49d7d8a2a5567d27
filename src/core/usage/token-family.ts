/** The parts of a model that a token estimate depends on. */
export type ModelName = { readonly provider: string; readonly modelId: string };

/** Models whose tokenizers make tokens of about the same length in English. */
export type TokenFamily = "o200k" | "cl100k" | "claude" | "gemini" | "llama-3" | "sentencepiece" | "other";

/**
 * The tokens of a family per hundred tokens of the base estimate. They are ratios of published average token lengths in
 * English text, and were not measured with a tokenizer: code, tables and other languages differ.
 */
export const TOKENS_PER_HUNDRED: { readonly [F in TokenFamily]: number } = {
  // OpenAI: a token is about 4 characters of English. The estimate itself is fitted to this.
  o200k: 100,
  // The older encoding has half as large a vocabulary: about 5 % more tokens in English.
  cl100k: 105,
  // Anthropic: a token is about 3.5 characters of English; 4 / 3.5.
  claude: 115,
  // Google: a token is about 4 characters, in Gemini and Gemma.
  gemini: 100,
  // Meta, in the report on Llama 3: 3.94 characters in its tokenizer, and 3.17 in the one before; 4 / 3.94 and 4 / 3.17.
  "llama-3": 102,
  sentencepiece: 126,
  other: 100,
};

/** By the name of the model alone: many providers serve the same model, and gateways add a prefix. */
const FAMILIES: readonly (readonly [RegExp, TokenFamily])[] = [
  [/claude/, "claude"],
  [/gemini|gemma/, "gemini"],
  [/gpt-4o|gpt-4\.1|gpt-4\.5|gpt-[5-9]|gpt-oss|chatgpt|codex|(?:^|[/.])o[1-9](?:$|-)/, "o200k"],
  [/gpt-4|gpt-3\.5|gpt-35/, "cl100k"],
  [/codellama|llama-?2|mistral|mixtral|vicuna/, "sentencepiece"],
  [/llama/, "llama-3"],
];

export function tokenFamily({ modelId }: ModelName): TokenFamily {
  const name = modelId.toLowerCase();
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

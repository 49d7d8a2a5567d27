/** A model, as far as an estimate of its tokens depends on it. */
export type ModelName = { readonly provider: string; readonly modelId: string };

/** Models whose tokenizers cut English into pieces of about the same length. */
export type TokenFamily = "o200k" | "cl100k" | "claude" | "gemini" | "llama-3" | "sentencepiece" | "other";

/**
 * How many tokens a family makes of what is one token for the estimate, in hundredths. They are the ratios of published
 * average lengths of a token in English text, and were measured with no tokenizer: code, tables and other languages differ.
 */
export const TOKENS_PER_HUNDRED: { readonly [F in TokenFamily]: number } = {
  // OpenAI: a token is about 4 characters of English. The estimate itself is fitted to this.
  o200k: 100,
  // The older encoding has half as many words: about a twentieth more tokens in English.
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

/** By the name of the model alone: the same one is served by many providers, and gateways put a name before it. */
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

import { ARGUMENT, HEADER_NAME, hasCredentials, KEY_VARIABLE, MODEL, URL_TEXT } from "./blueprint-rules.ts";
import { mapOf } from "./run-spec-collections.ts";
import { type Field, laterField, objectOf, single } from "./run-spec-field.ts";
import { YES_OR_NO } from "./run-spec-rules.ts";

/** A model at an OpenAI-compatible address. */
export type BlueprintModel = {
  readonly baseUrl: string;
  /** The server's own name of the model. */
  readonly model: string;
  /** A variable, `${NAME}`; null if the server needs no key. */
  readonly apiKey: string | null;
  readonly headers: { readonly [name: string]: string };
  readonly private?: boolean;
};

/** Texts by names that the author chooses. */
export const textsByName = (name: Parameters<typeof mapOf>[0], description: string) =>
  mapOf(name, single(ARGUMENT, null, ""), description);

/** Addresses are stored and shown to people, so they must not contain credentials. */
export function addressField(description: string): Field<string> {
  const field = single(URL_TEXT, null, description);
  return {
    ...field,
    read(value, path, reading) {
      if (typeof value !== "string" || !hasCredentials(value)) return field.read(value, path, reading);
      reading.report(
        path,
        "contains a user name or password, and would be stored: use headers, with ${NAME} for a variable.",
      );
      return undefined;
    },
  };
}

/** The definition of a model at an address. */
export const AT_ADDRESS = objectOf<BlueprintModel>(
  {
    baseUrl: addressField(
      "The address up to /v1, such as http://127.0.0.1:11434/v1. ${NAME} is an environment variable.",
    ),
    model: single(MODEL, null, "The name of the model on that server."),
    apiKey: single(
      KEY_VARIABLE,
      { value: null },
      "The environment variable with its key, ${NAME}; by default no key is sent.",
    ),
    headers: textsByName(HEADER_NAME, "More headers of every request. ${NAME} is an environment variable."),
    private: laterField(
      YES_OR_NO,
      "Whether its name may resolve to a private address; an IP address, and localhost, may be private anyway.",
    ),
  },
  "A model on a server that is compatible with OpenAI's chat completions: Ollama, vLLM, LiteLLM, Azure.",
  {},
  "a model",
);

import { z } from "zod";
import { ConfigurationError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import { zodJsonSchema } from "../core/zod-json-schema.ts";
import type { Section } from "./prompt-section.ts";

/** The parameters of a prompt, and the sections that use them. */
export class PromptParameters<S extends z.ZodObject = z.ZodObject> {
  readonly #prompt: string;
  readonly #schema: S | null;
  readonly #sections: readonly Pick<Section<z.infer<S>>, "key" | "parameters">[];
  readonly jsonSchema: JsonObject | null;

  constructor(
    prompt: string,
    schema: S | null,
    sections: readonly Pick<Section<z.infer<S>>, "key" | "parameters">[],
  ) {
    this.#prompt = prompt;
    this.#schema = schema;
    this.#sections = sections;
    this.jsonSchema = schema === null ? null : jsonSchemaOf(prompt, schema);
    this.#assertKnown();
  }

  /** The parsed parameters for the sections. Errors name the parameter that is missing or wrong. */
  parse(params: unknown): z.infer<S> {
    const given: { readonly [name: string]: unknown } = isJsonObject(params) ? params : {};
    const parsed = (this.#schema ?? z.object({})).safeParse(given);
    if (!parsed.success) throw this.#doesNotFit(parsed.error, given);
    const values: { readonly [name: string]: unknown } = parsed.data;
    const used = this.#sections.flatMap(({ parameters }) => parameters);
    const missing = used.find((name) => !has(values, name));
    if (missing !== undefined) throw this.#isMissing(missing);
    return parsed.data as z.infer<S>;
  }

  #assertKnown(): void {
    const known = Object.keys(this.#schema?.shape ?? {});
    for (const { key, parameters } of this.#sections) {
      const unknown = parameters.find((name) => !known.includes(name));
      if (unknown === undefined) continue;
      const list = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
      throw new ConfigurationError(
        `Section ${key} of prompt ${this.#prompt} names the parameter ${unknown}, which the prompt does not have (${list}): add it to the parameters, or write $$ for a dollar.`,
        { prompt: this.#prompt, section: key, parameter: unknown },
      );
    }
  }

  #doesNotFit(error: z.ZodError, given: { readonly [name: string]: unknown }): ConfigurationError {
    const [issue] = error.issues;
    const [name] = issue?.path ?? [];
    if (issue === undefined || name === undefined)
      return new ConfigurationError(
        `The parameters of prompt ${this.#prompt} do not fit: ${issue?.message ?? error.message}.`,
        { prompt: this.#prompt },
      );
    const parameter = String(name);
    if (!has(given, parameter)) return this.#isMissing(parameter);
    return new ConfigurationError(
      `The parameter ${issue.path.map(String).join(".")} ${this.#whereUsed(parameter)} does not fit: ${issue.message}.`,
      { prompt: this.#prompt, section: this.#sectionUsing(parameter), parameter },
    );
  }

  #isMissing(parameter: string): ConfigurationError {
    return new ConfigurationError(
      `The parameter ${parameter} ${this.#whereUsed(parameter)} is missing: bind the prompt to it, or give an input that has it.`,
      { prompt: this.#prompt, section: this.#sectionUsing(parameter), parameter },
    );
  }

  #whereUsed(parameter: string): string {
    const section = this.#sectionUsing(parameter);
    return section === null ? `of prompt ${this.#prompt}` : `of section ${section} of prompt ${this.#prompt}`;
  }

  #sectionUsing(parameter: string): string | null {
    return this.#sections.find(({ parameters }) => parameters.includes(parameter))?.key ?? null;
  }
}

/** Not just `values[name]`: an object without a parameter "constructor" still has a constructor. */
function has(values: { readonly [name: string]: unknown }, name: string): boolean {
  return Object.hasOwn(values, name) && values[name] !== undefined;
}

/** Not `instanceof`: the schema may come from another copy of zod. */
function isZodObject(schema: unknown): schema is z.ZodObject {
  if (typeof schema !== "object" || schema === null || !("_zod" in schema)) return false;
  return (schema as z.ZodType)._zod.def.type === "object";
}

function jsonSchemaOf(prompt: string, schema: unknown): JsonObject {
  if (!isZodObject(schema))
    throw new ConfigurationError(
      `The parameters of prompt ${prompt} are no zod object: use z.object({ … }).`,
    );
  return zodJsonSchema(schema, `The schema of the parameters of prompt ${prompt}`);
}

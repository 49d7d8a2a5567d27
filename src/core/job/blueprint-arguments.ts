import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { nearestName } from "../naming/nearest-name.ts";
import { allowedText, canBe, definitionsOf, isOpen } from "./blueprint-output.ts";
import { parseTemplate } from "./blueprint-template.ts";
import type { SpecPath, SpecProblem } from "./run-spec-field.ts";

/**
 * The mistakes in the arguments of a tool that can be found before templates are filled in: unknown names, missing arguments,
 * and values of the wrong type. `filled` are the arguments that Pawl fills in.
 */
export function argumentProblems(
  tool: string,
  schema: JsonObject,
  given: JsonObject,
  filled: readonly string[] = [],
): readonly SpecProblem[] {
  return new ArgumentCheck(tool, schema, filled).object(given, schema, []);
}

class ArgumentCheck {
  readonly #tool: string;
  readonly #definitions: JsonObject;
  readonly #filled: readonly string[];

  constructor(tool: string, schema: JsonObject, filled: readonly string[]) {
    this.#tool = tool;
    this.#definitions = definitionsOf(schema);
    this.#filled = filled;
  }

  object(given: JsonObject, schema: JsonObject, path: SpecPath): readonly SpecProblem[] {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    return [
      ...this.#missing(given, schema, path),
      ...Object.entries(given).flatMap(([name, value]) => {
        const part = Object.hasOwn(properties, name) ? properties[name] : undefined;
        if (isJsonObject(part)) return this.#value(value, part, [...path, name]);
        const isKnown = part !== undefined || isOpen(schema) || !isJsonObject(schema.properties);
        return isKnown ? [] : [this.#unknown(name, Object.keys(properties), path)];
      }),
    ];
  }

  #missing(given: JsonObject, { required }: JsonObject, path: SpecPath): readonly SpecProblem[] {
    const names = Array.isArray(required) ? (required as readonly Json[]) : [];
    return names.flatMap((name) => {
      if (typeof name !== "string" || Object.hasOwn(given, name)) return [];
      if (path.length === 0 && this.#filled.includes(name)) return [];
      return [{ path, message: `has no ${name}, and ${this.#tool} needs it.` }];
    });
  }

  #unknown(name: string, names: readonly string[], path: SpecPath): SpecProblem {
    const near = nearestName(name, names);
    const meant =
      near !== null
        ? `did you mean ${near}?`
        : names.length === 0
          ? "it takes none."
          : `it takes ${names.join(", ")}.`;
    return { path: [...path, name], message: `is no argument of ${this.#tool}: ${meant}` };
  }

  #value(value: Json, schema: JsonObject, path: SpecPath): readonly SpecProblem[] {
    if (typeof value === "string") return this.#text(value, schema, path);
    if (Array.isArray(value)) return this.#list(value as readonly Json[], schema, path);
    if (!isJsonObject(value)) return this.#literal(value, schema, path);
    if (schema.type === "object" || isJsonObject(schema.properties)) return this.object(value, schema, path);
    return this.#container({}, schema, path);
  }

  /** A template that is a single reference may have any value; every other one is a text. */
  #text(text: string, schema: JsonObject, path: SpecPath): readonly SpecProblem[] {
    const parsed = parseTemplate(text);
    if (!parsed.ok) return [];
    const [only] = parsed.parts;
    if (parsed.parts.every((part) => typeof part === "string"))
      return this.#literal(parsed.parts.join(""), schema, path);
    if (parsed.parts.length === 1 && typeof only !== "string") return [];
    return this.#ofType("string", schema) ? [] : [this.#wrong("a text", schema, path)];
  }

  #list(values: readonly Json[], schema: JsonObject, path: SpecPath): readonly SpecProblem[] {
    const { items } = schema;
    if (schema.type !== "array" || !isJsonObject(items)) return this.#container([], schema, path);
    return values.flatMap((value, index) => this.#value(value, items, [...path, index]));
  }

  /** The content may have templates, so that only the type of the container can be checked. */
  #container(empty: Json, schema: JsonObject, path: SpecPath): readonly SpecProblem[] {
    const type = Array.isArray(empty) ? "array" : "object";
    if (this.#ofType(type, schema)) return [];
    return [this.#wrong(type === "array" ? "a list" : "an object", schema, path)];
  }

  #ofType(type: string, schema: JsonObject): boolean {
    const types = Array.isArray(schema.type) ? (schema.type as readonly Json[]) : [schema.type];
    return schema.type === undefined || types.includes(type);
  }

  #literal(value: Json, schema: JsonObject, path: SpecPath): readonly SpecProblem[] {
    const known = { kind: "schema", schema: { ...this.#definitions, ...schema } } as const;
    return canBe(known, value) ? [] : [this.#wrong(JSON.stringify(value), schema, path)];
  }

  #wrong(what: string, schema: JsonObject, path: SpecPath): SpecProblem {
    const allowed = allowedText({ kind: "schema", schema });
    return { path, message: `is ${what}, which ${this.#tool} does not take there${allowed}.` };
  }
}

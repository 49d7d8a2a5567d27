/**
 * A schema of any library that follows Standard Schema (zod, Valibot, ArkType …). `A` is what it takes, `O` what it makes
 * of that. Declared here, since the standard is an interface and not a package that everybody has.
 */
export interface StandardSchema<A = unknown, O = A> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<O> | Promise<StandardResult<O>>;
    /** Type only: never has a value. */
    readonly types?: { readonly input: A; readonly output: O } | undefined;
    /** The JSON Schema of the schema; not every library has it. */
    readonly jsonSchema?:
      | {
          readonly input: (options: { readonly target: "draft-07" }) => {
            readonly [keyword: string]: unknown;
          };
        }
      | undefined;
  };
}

type StandardResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema with its check: `jsonSchema(…)` of the AI SDK, or a function that returns one. */
export interface CheckedJsonSchema<O = unknown> {
  /** Type only: never has a value. */
  readonly _type: O;
  readonly jsonSchema: object | PromiseLike<object>;
  readonly validate?: (value: unknown) => JsonSchemaCheck<O> | PromiseLike<JsonSchemaCheck<O>>;
}

type JsonSchemaCheck<O> =
  | { readonly success: true; readonly value: O }
  | { readonly success: false; readonly error: Error };

/** Every schema that `tool` and `agent` take. */
export type AnySchema<O, A = unknown> =
  | StandardSchema<A, O>
  | CheckedJsonSchema<O>
  | (() => CheckedJsonSchema<O>);

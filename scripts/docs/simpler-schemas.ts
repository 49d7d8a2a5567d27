// Makes the schemas of an OpenAPI document shorter, and open where later versions may add to them.

type Node = { readonly [name: string]: unknown };

/** The document with simpler schemas. */
export function withSimplerSchemas(document: object): object {
  const strict = requestSchemas(document);
  const open = mapNodes(document, (node, path) =>
    withoutNullBranch(simpler(node, strict.has(path[2] ?? "") || path.includes("requestBody"))),
  );
  return withoutTwins(open);
}

/**
 * The pattern of a time repeats what its format says, at length, and the bounds of whole numbers are those of JavaScript. Any JSON
 * value is any value. An answer may have more fields in a later version; a request may not.
 */
function simpler(node: Node, isRequest: boolean): Node {
  const { pattern, minimum, maximum, additionalProperties, ...rest } = node;
  if (isNamedBySelf(rest.$ref))
    return rest.description === undefined ? {} : { description: rest.description };
  // A count or a time in milliseconds is larger than what other languages take for an integer.
  const isLong = rest.type === "integer" && !(Number(maximum) < 2 ** 31);
  return {
    ...rest,
    ...(isLong ? { format: "int64" } : {}),
    ...(pattern === undefined || rest.format === "date-time" ? {} : { pattern }),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
    ...(additionalProperties === undefined || (additionalProperties === false && !isRequest)
      ? {}
      : { additionalProperties }),
  };
}

/**
 * A value or null has two types, and is no choice of two schemas: generators of clients make a class of each choice. What has a
 * name stays a choice, because a reference has no type of its own.
 */
function withoutNullBranch(node: Node): Node {
  const { anyOf, ...rest } = node;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return node;
  const [value, other] = anyOf as readonly Node[];
  if (typeof value?.type !== "string" || other?.type !== "null") return node;
  const values = Array.isArray(value.enum) ? { enum: [...value.enum, null] } : {};
  return { ...value, ...rest, ...values, type: [value.type, "null"] };
}

/** The generator gives the one schema that has no name, and needs one, a number. */
function isNamedBySelf(ref: unknown): boolean {
  return typeof ref === "string" && /\/__schema\d+$/.test(ref);
}

/** The names of the schemas that requests lead to. */
function requestSchemas(document: object): ReadonlySet<string> {
  const found = new Set<string>();
  const schemas = (document as { components: { schemas: { [name: string]: Node } } }).components.schemas;
  const visit = (value: unknown, isRequest: boolean): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, each] of Object.entries(value)) {
      const name = isRequest && key === "$ref" ? String(each).split("/").at(-1) : undefined;
      if (name === undefined) visit(each, isRequest || key === "requestBody");
      else if (!found.has(name)) {
        found.add(name);
        visit(schemas[name], true);
      }
    }
  };
  visit((document as { paths: unknown }).paths, false);
  return found;
}

/** A schema of requests and answers has two forms, which are the same once answers are open. */
function withoutTwins(document: object): object {
  const { components } = document as { components: { schemas: { [name: string]: unknown } } };
  const plain = (value: unknown) => JSON.stringify(value).replaceAll(/(\/schemas\/\w+?)Output"/g, '$1"');
  const twins = Object.keys(components.schemas).filter((name) => {
    const other = components.schemas[name.replace(/Output$/, "")];
    return name.endsWith("Output") && plain(other) === plain(components.schemas[name]);
  });
  const refs = new Map(
    twins.map((name) => [`#/components/schemas/${name}`, `#/components/schemas/${name.slice(0, -6)}`]),
  );
  const joined = mapNodes(document, (node) => {
    const ref = refs.get(String(node.$ref));
    return ref === undefined ? node : { ...node, $ref: ref };
  }) as { components: { schemas: { [name: string]: unknown } } };
  for (const name of Object.keys(joined.components.schemas))
    if (twins.includes(name) || name.startsWith("__schema")) delete joined.components.schemas[name];
  return joined;
}

/** A copy in which each object is replaced, from the leaves up. */
function mapNodes(
  value: unknown,
  change: (node: Node, path: readonly string[]) => Node,
  path: readonly string[] = [],
): object {
  const mapped = (each: unknown, name: string): unknown =>
    typeof each === "object" && each !== null ? mapNodes(each, change, [...path, name]) : each;
  if (Array.isArray(value)) return value.map((each, index) => mapped(each, String(index)));
  const entries = Object.entries(value as object).map(([name, each]) => [name, mapped(each, name)] as const);
  return change(Object.fromEntries(entries), path);
}

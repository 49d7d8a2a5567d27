// An OpenAPI document of version 3.1 in the words of 3.0, which the generator of the test knows.

type Node = { readonly [name: string]: unknown };

/** The document as version 3.0 says the same. */
export function asOpenApi30(document: object): object {
  const { info, ...rest } = inOldWords(document) as { readonly info: Node };
  const { summary: _, license: __, ...known } = info;
  return { ...rest, info: known, openapi: "3.0.3" };
}

function inOldWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOldWords);
  if (typeof value !== "object" || value === null) return value;
  return oldSchema(Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inOldWords(each)])));
}

/**
 * It has `nullable` in place of a type, and no rule for the names of properties. The generator makes one class of a choice of
 * objects, in which a constant of one of them would be the only value for all.
 */
function oldSchema({ const: _, propertyNames: __, ...node }: Node): Node {
  const { type, anyOf } = node;
  if (Array.isArray(type) && type.includes("null")) return { ...node, type: type[0], nullable: true };
  if (!Array.isArray(anyOf)) return node;
  const values = (anyOf as readonly Node[]).filter((each) => each.type !== "null");
  if (values.length < anyOf.length) return { allOf: values, nullable: true };
  // A text or a list of texts: the generator has no type for a choice of such, and takes any value.
  return values.some((each) => each.type === "string") ? {} : node;
}

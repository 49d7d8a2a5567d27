// The options in a type: its properties, with those of the types that it is made from.

import { type Declaration, type DeclarationFile, findDeclarations, type TypeNode } from "./declarations.ts";
import { docBefore } from "./doc-comment.ts";

/** One property of an options type. */
export type OptionEntry = {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
  readonly text: string;
};

type LiteralNode = Extract<TypeNode, { type: "TSTypeLiteral" }>;
type MemberNode = LiteralNode["members"][number];
type ReferenceNode = Extract<TypeNode, { type: "TSTypeReference" }>;

/** The options that a declared type has. */
export function optionsOf({ node, file, name }: Declaration): readonly OptionEntry[] {
  if (node.type === "TSTypeAliasDeclaration") return optionsIn(node.typeAnnotation, file);
  if (node.type === "TSInterfaceDeclaration")
    return [
      ...node.extends.flatMap(({ expression }) =>
        expression.type === "Identifier" ? optionsNamed(expression.name, file) : [],
      ),
      ...node.body.body.flatMap((member) => optionOf(member, file)),
    ];
  throw new Error(`${name} is not a type with options.`);
}

function optionsNamed(name: string, file: DeclarationFile): readonly OptionEntry[] {
  const [declaration] = findDeclarations(file, name);
  return declaration === undefined ? [] : optionsOf(declaration);
}

/** The options in a type; none in types of other packages. */
export function optionsIn(type: TypeNode, file: DeclarationFile): readonly OptionEntry[] {
  if (type.type === "TSTypeLiteral") return type.members.flatMap((member) => optionOf(member, file));
  if (type.type === "TSIntersectionType" || type.type === "TSUnionType")
    return unique(type.types.flatMap((each) => optionsIn(each, file)));
  if (type.type === "TSParenthesizedType") return optionsIn(type.typeAnnotation, file);
  return type.type === "TSTypeReference" ? referencedOptions(type, file) : [];
}

/** A later property of the same name is the more exact one. */
function unique(options: readonly OptionEntry[]): readonly OptionEntry[] {
  return [...new Map(options.map((option) => [option.name, option])).values()];
}

function referencedOptions(
  { typeName, typeArguments }: ReferenceNode,
  file: DeclarationFile,
): readonly OptionEntry[] {
  if (typeName.type !== "Identifier") return [];
  const [of, keys] = typeArguments?.params ?? [];
  const inner = () => (of === undefined ? [] : optionsIn(of, file));
  if (typeName.name === "Partial") return inner().map((option) => ({ ...option, isOptional: true }));
  if (typeName.name === "Pick" || typeName.name === "Omit") {
    const named = keys === undefined ? [] : literals(keys);
    return inner().filter(({ name }) => named.includes(name) === (typeName.name === "Pick"));
  }
  return optionsNamed(typeName.name, file);
}

function literals(type: TypeNode): readonly string[] {
  if (type.type === "TSUnionType") return type.types.flatMap(literals);
  return type.type === "TSLiteralType" && type.literal.type === "Literal" ? [String(type.literal.value)] : [];
}

function optionOf(member: MemberNode, file: DeclarationFile): readonly OptionEntry[] {
  if (member.type !== "TSPropertySignature" && member.type !== "TSMethodSignature") return [];
  if (member.key.type !== "Identifier") return [];
  const { source, comments } = file;
  const annotation =
    member.type === "TSPropertySignature" ? member.typeAnnotation?.typeAnnotation : undefined;
  const type =
    annotation === undefined
      ? source.slice(member.key.end, member.end)
      : source.slice(annotation.start, annotation.end);
  return [
    {
      name: member.key.name,
      type: oneLine(type.replace(/^\?|;$/g, "")),
      isOptional: member.optional,
      text: oneLine(docBefore(source, comments, member.start).text),
    },
  ];
}

function oneLine(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s+/g, " ")
    .trim();
}

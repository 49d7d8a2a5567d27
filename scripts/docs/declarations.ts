// The declarations of the package's d.ts files: what each entry exports, and the types that those names stand for.

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseSync } from "rolldown/utils";
import { type DocComment, docBefore, parseDoc, type SourceComment } from "./doc-comment.ts";

type Program = ReturnType<typeof parseSync>["program"];
type Statement = Program["body"][number];
type AliasNode = Extract<Statement, { type: "TSTypeAliasDeclaration" }>;
export type TypeNode = AliasNode["typeAnnotation"];

/** A d.ts file, parsed. */
export type DeclarationFile = {
  readonly path: string;
  readonly source: string;
  readonly body: readonly Statement[];
  readonly comments: readonly SourceComment[];
};

/** One declaration of a name. A function with overloads has several. */
export type Declaration = {
  readonly name: string;
  readonly file: DeclarationFile;
  /** The statement without `export`. */
  readonly node: Statement;
  readonly doc: DocComment;
};

const parsedFiles = new Map<string, DeclarationFile>();

/** Reads a d.ts file once. */
export function readDeclarations(path: string): DeclarationFile {
  const known = parsedFiles.get(path);
  if (known !== undefined) return known;
  // The package has tabs, which are shorter; a page has blanks.
  const source = readFileSync(path, "utf8").replaceAll("\t", "    ");
  const { program, comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const file = { path, source, body: program.body, comments };
  parsedFiles.set(path, file);
  return file;
}

const knownExports = new Map<string, ReadonlyMap<string, readonly Declaration[]>>();

/** Everything that a file exports, by name. One of types that says nothing about it exports all that it declares. */
export function exportsOf(file: DeclarationFile): ReadonlyMap<string, readonly Declaration[]> {
  const known = knownExports.get(file.path);
  if (known !== undefined) return known;
  const found = new Map<string, readonly Declaration[]>();
  // Set before it is filled: files import each other in circles.
  knownExports.set(file.path, found);
  if (!file.body.some(({ type }) => type.startsWith("Export")))
    for (const { name } of file.body.flatMap((statement) => declared(file, statement)))
      found.set(name, findDeclarations(file, name));
  for (const statement of file.body) {
    if (statement.type === "ExportAllDeclaration") {
      const other = fileOf(file, statement.source.value);
      if (other !== null) for (const [name, all] of exportsOf(other)) found.set(name, all);
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    for (const { name } of declared(file, statement)) found.set(name, findDeclarations(file, name));
    const from = statement.source === null ? file : fileOf(file, statement.source.value);
    for (const { local, exported } of statement.specifiers) {
      const all = from === null ? [] : findDeclarations(from, wordOf(local));
      found.set(
        wordOf(exported),
        all.map((each) => ({ ...each, name: wordOf(exported) })),
      );
    }
  }
  return found;
}

/** The declarations of a name that is visible in a file; none for a name of another package. */
export function findDeclarations(file: DeclarationFile, name: string): readonly Declaration[] {
  const own = file.body
    .flatMap((statement) => declared(file, statement))
    .filter((each) => each.name === name);
  if (own.length > 0) return own;
  for (const statement of file.body) {
    if (statement.type !== "ImportDeclaration") continue;
    const specifier = statement.specifiers.find(({ local }) => local.name === name);
    if (specifier === undefined || specifier.type !== "ImportSpecifier") continue;
    const other = fileOf(file, statement.source.value);
    return other === null ? [] : (exportsOf(other).get(wordOf(specifier.imported)) ?? []);
  }
  return exportedElsewhere(file, name);
}

/** All examples of a declaration, also those of its members. */
export function examplesOf({ node, file, doc }: Declaration): readonly string[] {
  const inside = file.comments.filter(({ start, end }) => start > node.start && end < node.end);
  return [...doc.examples, ...inside.flatMap(({ value }) => parseDoc(value).examples)];
}

/** A name that the file only hands on: `export { x } from "./y.ts"`. */
function exportedElsewhere(file: DeclarationFile, name: string): readonly Declaration[] {
  const hands = file.body.some(
    (statement) =>
      statement.type === "ExportAllDeclaration" ||
      (statement.type === "ExportNamedDeclaration" && statement.source !== null),
  );
  return hands ? (exportsOf(file).get(name) ?? []) : [];
}

/** What a statement declares, exported or not. */
function declared(file: DeclarationFile, statement: Statement): readonly Declaration[] {
  const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
  if (node === null) return [];
  const doc = docBefore(file.source, file.comments, statement.start);
  const as = (name: string): Declaration => ({ name, file, node, doc });
  if (node.type === "VariableDeclaration")
    return node.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [as(id.name)] : []));
  const isNamed =
    node.type === "TSInterfaceDeclaration" ||
    node.type === "TSTypeAliasDeclaration" ||
    node.type === "TSDeclareFunction" ||
    node.type === "ClassDeclaration";
  return isNamed && node.id !== null ? [as(node.id.name)] : [];
}

/** The file that an import leads to; null for another package. */
export function fileOf(from: DeclarationFile, specifier: string): DeclarationFile | null {
  if (!specifier.startsWith(".")) return null;
  return readDeclarations(resolve(dirname(from.path), specifier.replace(/\.[jt]s$/, ".d.ts")));
}

function wordOf(name: { type: string; name?: string; value?: unknown }): string {
  return name.name ?? String(name.value);
}

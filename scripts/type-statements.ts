// Takes declarations out of the files that the compiler writes, with everything that they need, and writes them in one file.

import {
  type Declaration,
  type DeclarationFile,
  exportsOf,
  fileOf,
  findDeclarations,
  readDeclarations,
} from "./docs/declarations.ts";

/** One statement of a declaration file. */
export type TypeStatement = {
  readonly id: string;
  readonly name: string;
  readonly file: DeclarationFile;
  /** Its doc comment, with the end of its line; empty if it has none. */
  readonly doc: string;
  /** Without `export`. */
  readonly text: string;
  /** The names that it takes from packages, each with its import. */
  readonly packages: ReadonlyMap<string, PackageName>;
};

type PackageName = { readonly source: string; readonly specifier: string };

/** The statements that the exports of a file need, and those that these need in turn. */
export function neededBy(path: string): ReadonlyMap<string, TypeStatement> {
  const needed = new Map<string, TypeStatement>();
  const waiting = [...exportsOf(readDeclarations(path)).values()].flat();
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const id = `${each.file.path}:${each.node.start}`;
    if (needed.has(id)) continue;
    needed.set(id, statementOf(id, each));
    waiting.push(...mentionedIn(each));
  }
  return needed;
}

/** The compiler's reference to a declaration of another file: `import("./json.ts").Json`. */
const INLINE_IMPORT = /import\("(?<path>\.[^"]+)"\)\.(?<name>[\w$]+)/g;
const WORD = /[A-Za-z_$][\w$]*/g;
const COMMENT = /\/\*[^]*?\*\/|\/\/[^\n]*/g;

function statementOf(id: string, { name, file, node }: Declaration): TypeStatement {
  const { source, comments, body } = file;
  const statement = body.find(({ start, end }) => start <= node.start && node.end <= end) ?? node;
  const before = comments.findLast(({ end }) => end <= statement.start);
  const doc = before !== undefined && source.slice(before.end, statement.start).trim() === "" ? before : null;
  const comment = doc === null ? "" : `${source.slice(doc.start, doc.end)}\n`;
  const text = source.slice(node.start, node.end).replaceAll(INLINE_IMPORT, "$<name>");
  return { id, name, file, doc: comment, text, packages: packageNames(file, wordsIn({ file, node })) };
}

function wordsIn({ file, node }: Pick<Declaration, "file" | "node">): ReadonlySet<string> {
  const code = file.source.slice(node.start, node.end).replaceAll(COMMENT, "");
  return new Set(code.match(WORD));
}

/** A word that is no type, such as the name of a property, may keep a declaration that is not needed. */
function mentionedIn({ file, node }: Declaration): readonly Declaration[] {
  const code = file.source.slice(node.start, node.end);
  const inline = [...code.matchAll(INLINE_IMPORT)].flatMap(({ groups: { path = "", name = "" } = {} }) => {
    const other = fileOf(file, path);
    return other === null ? [] : (exportsOf(other).get(name) ?? []);
  });
  return [...inline, ...[...wordsIn({ file, node })].flatMap((word) => findDeclarations(file, word))];
}

function packageNames(file: DeclarationFile, words: ReadonlySet<string>): ReadonlyMap<string, PackageName> {
  const found = new Map<string, PackageName>();
  for (const statement of file.body) {
    if (statement.type !== "ImportDeclaration") continue;
    const source = statement.source.value;
    for (const specifier of statement.specifiers) {
      const { name } = specifier.local;
      if (!words.has(name)) continue;
      const isName = specifier.type === "ImportSpecifier";
      if (!source.startsWith(".") && isName)
        found.set(name, { source, specifier: file.source.slice(specifier.start, specifier.end) });
      else if (!isName)
        throw new Error(`${file.path} imports ${name} as a whole from ${source}: import the types by name.`);
    }
  }
  return found;
}

export function namesOf(statements: Iterable<TypeStatement>): readonly string[] {
  return [...new Set([...statements].map(({ name }) => name))];
}

/** The names that a file exports, with `type` before those that it exports as types only. */
export function exportList(path: string): readonly string[] {
  const file = readDeclarations(path);
  const types = typesOnly(file);
  return [...exportsOf(file).keys()].map((name) => (types.has(name) ? `type ${name}` : name));
}

function typesOnly(file: DeclarationFile): ReadonlySet<string> {
  return new Set(
    file.body.flatMap((statement) => {
      const isExport =
        statement.type === "ExportAllDeclaration" || statement.type === "ExportNamedDeclaration";
      const other = isExport && statement.source ? fileOf(file, statement.source.value) : null;
      if (other === null || !isExport) return [];
      const inner = typesOnly(other);
      if (statement.type === "ExportAllDeclaration")
        return statement.exportKind === "type" ? [...exportsOf(other).keys()] : [...inner];
      return statement.specifiers.flatMap(({ local, exportKind }) => {
        const name = "name" in local ? local.name : local.value;
        return statement.exportKind === "type" || exportKind === "type" || inner.has(name) ? [name] : [];
      });
    }),
  );
}

/** Names that are in another file. */
export type Elsewhere = { readonly path: string; readonly names: readonly string[] };

/**
 * The text of a file with these statements and exports; all of them if no list is given, as in every file of types without
 * one. Names that no entry exports lose their doc comment: nobody can write them. Their members keep theirs.
 */
export function typeFile(
  statements: readonly TypeStatement[],
  elsewhere: Elsewhere,
  exported: readonly string[] | null,
  ofEntries: ReadonlySet<string>,
): string {
  assertUnique(statements);
  const others = new Set(elsewhere.names);
  const isOther = (name: string) => others.has(name.replace(/^type /, ""));
  const words = new Set(statements.flatMap(({ text }) => text.replaceAll(COMMENT, "").match(WORD) ?? []));
  const packages = Map.groupBy(
    new Map(statements.flatMap((each) => [...each.packages])).values(),
    ({ source }) => source,
  );
  const lines = [
    ...[...packages].map(([source, names]) =>
      listed(
        "import",
        names.map(({ specifier }) => specifier),
        source,
      ),
    ),
    listed(
      "import",
      elsewhere.names.filter((name) => words.has(name)),
      elsewhere.path,
    ),
    ...statements.map(({ name, doc, text }) => (ofEntries.has(name) ? doc : "") + text),
    listed("export", exported?.filter(isOther) ?? [], elsewhere.path),
    listed("export", exported?.filter((name) => !isOther(name)) ?? []),
  ];
  return `${lines.filter((line) => line !== "").join("\n")}\n`;
}

function listed(what: "import" | "export", names: readonly string[], from?: string): string {
  if (names.length === 0) return "";
  return `${what} { ${names.join(", ")} }${from === undefined ? "" : ` from "${from}"`};`;
}

function assertUnique(statements: readonly TypeStatement[]): void {
  const files = new Map<string, string>();
  for (const { name, file } of statements) {
    const other = files.get(name);
    if (other !== undefined && other !== file.path)
      throw new Error(`${name} is declared in ${other} and in ${file.path}: rename one of them.`);
    files.set(name, file.path);
  }
}

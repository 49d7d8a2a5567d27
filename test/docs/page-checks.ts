// The rules for Markdown pages: short lines, links and paths that lead somewhere, and an index of all decisions.

import { dirname, posix } from "node:path";

/** The pages to check, by their path from the root of the repository. */
export type Pages = ReadonlyMap<string, string>;

/** What a check looked at, and what is wrong with it. A check that saw nothing proves nothing. */
export type PageCheck = { readonly seen: number; readonly problems: readonly string[] };

/** True for a file or folder that exists in the repository. */
export type Exists = (path: string) => boolean;

const MAX_LINE = 120;
const FENCE = /^\s*```/;
const TABLE_ROW = /^\s*\|/;

/** Lines of prose over 120 characters. Code blocks and table rows cannot be broken and do not count. */
export function checkLines(pages: Pages): PageCheck {
  const prose = [...pages].flatMap(([path, text]) =>
    withoutCodeBlocks(text)
      .split("\n")
      .map((line, i) => ({ where: `${path}:${i + 1}`, line }))
      .filter(({ line }) => line !== "" && !TABLE_ROW.test(line)),
  );
  const long = prose.filter(({ line }) => Array.from(line).length > MAX_LINE);
  return {
    seen: prose.length,
    problems: long.map(({ where, line }) => `${where} has ${Array.from(line).length} characters`),
  };
}

/** Relative links whose file, or whose heading in that file, does not exist. */
export function checkLinks(pages: Pages, exists: Exists): PageCheck {
  const links = [...pages].flatMap(([path, text]) => relativeLinks(text).map((link) => ({ path, link })));
  const problems = links.flatMap(({ path, link }) => {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? path : posix.join(dirname(path), file);
    if (!pages.has(target) && !exists(target)) return [`${path} links to ${link}, and there is no ${target}`];
    if (anchor === undefined) return [];
    const page = pages.get(target);
    const isThere = page !== undefined && headingAnchors(page).has(anchor);
    return isThere ? [] : [`${path} links to ${link}, and ${target} has no such heading`];
  });
  return { seen: links.length, problems };
}

/** Files and folders of the repository that a page names and that do not exist. */
export function checkPaths(pages: Pages, exists: Exists): PageCheck {
  const named = [...pages].flatMap(([path, text]) =>
    [...text.matchAll(/(?<![\w./-])(?:src|test|scripts|bench|examples|docs)\/[\w./-]*\w/g)].map(([name]) => ({
      path,
      name,
    })),
  );
  return {
    seen: named.length,
    problems: named
      .filter(({ name }) => !exists(name))
      .map(({ path, name }) => `${path} names ${name}, which does not exist`),
  };
}

const INDEX = "docs/decisions/README.md";
const DECISION = /^docs\/decisions\/[\w-]+\/(?<number>\d{4})-[\w-]+\.md$/;

/** Decisions whose title has another number than their file, or that the index does not list exactly once. */
export function checkDecisions(pages: Pages): PageCheck {
  const entries = [...oneLine(pages.get(INDEX) ?? "").matchAll(/- \[(?<title>.+?)\]\((?<file>[^)]+)\)/g)].map(
    ({ groups }) => ({ title: groups?.title ?? "", path: posix.join(dirname(INDEX), groups?.file ?? "") }),
  );
  const decisions = [...pages].flatMap(([path, text]) => {
    const number = DECISION.exec(path)?.groups?.number;
    return number === undefined ? [] : [{ path, number: Number(number), title: titleOf(text) }];
  });
  const problems = decisions.flatMap(({ path, number, title }) => {
    const listed = entries.filter((entry) => entry.path === path);
    const sameNumber = decisions.filter((other) => other.number === number);
    return [
      ...(title.startsWith(`${number}. `) ? [] : [`${path} has the title "${title}"`]),
      ...(sameNumber.length === 1 ? [] : [`${path} shares its number with another decision`]),
      ...(listed.length === 1 ? [] : [`${path} is ${listed.length} times in the index`]),
      ...(listed.every((entry) => entry.title === title) ? [] : [`${path} has another title in the index`]),
    ];
  });
  return { seen: decisions.length, problems };
}

function titleOf(page: string): string {
  return /^# (?<title>.+)$/m.exec(page)?.groups?.title ?? "";
}

/** The page with its code blocks left empty, so that line numbers stay right. */
function withoutCodeBlocks(text: string): string {
  let isCode = false;
  return text
    .split("\n")
    .map((line) => {
      if (!FENCE.test(line)) return isCode ? "" : line;
      isCode = !isCode;
      return "";
    })
    .join("\n");
}

/** The targets of links, which may span lines; code is no link, and addresses elsewhere are not ours to check. */
function relativeLinks(text: string): string[] {
  const prose = withoutCodeBlocks(text).replace(/(?<!\[)`[^`]*`(?!\])/g, "");
  return [...prose.matchAll(/\]\((?<target>[^()\s]+)\)/g)]
    .map(({ groups }) => groups?.target ?? "")
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingAnchors(text: string): Set<string> {
  const headings = [...withoutCodeBlocks(text).matchAll(/^#{1,6} (?<title>.+)$/gm)];
  const anchors = new Map<string, number>();
  for (const { groups } of headings) {
    const anchor = (groups?.title ?? "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const earlier = anchors.get(anchor) ?? 0;
    anchors.set(anchor, earlier + 1);
    if (earlier > 0) anchors.set(`${anchor}-${earlier}`, 1);
  }
  return new Set(anchors.keys());
}

function oneLine(text: string): string {
  return text.replace(/\n {2,}/g, " ");
}

import { describe, expect, test } from "vitest";
import {
  type MarkdownNode,
  markdownNodes,
  safeAddress,
} from "../../../dashboard/src/pages/run/transcript/markdown-nodes.ts";

/** All addresses in the nodes. */
function addresses(nodes: readonly MarkdownNode[]): readonly string[] {
  return nodes.flatMap((node) => {
    const own = node.kind === "link" ? [node.href] : [];
    if ("children" in node) return [...own, ...addresses(node.children)];
    if (node.kind === "list") return node.items.flatMap(addresses);
    if (node.kind === "table") return [...node.head, ...node.rows.flat()].flatMap(addresses);
    return own;
  });
}

/** All words in the nodes. */
function wordsIn(nodes: readonly MarkdownNode[]): string {
  return nodes
    .map((node) => {
      if ("text" in node) return node.text;
      if ("children" in node) return wordsIn(node.children);
      if (node.kind === "list") return node.items.map(wordsIn).join("\n");
      if (node.kind === "table") return [...node.head, ...node.rows.flat()].map(wordsIn).join("|");
      return "";
    })
    .join("");
}

describe("markdown", () => {
  test("becomes paragraphs, lists, tables and code", () => {
    const nodes = markdownNodes(
      "# Plan\n\nOne **two**.\n\n2. a\n3. b\n\n| x |\n| - |\n| 1 |\n\n```js\nf()\n```",
    );
    expect(nodes.map(({ kind }) => kind)).toEqual(["heading", "paragraph", "list", "table", "code"]);
    expect(nodes[2]).toMatchObject({ start: 2 });
    expect(nodes[4]).toEqual({ kind: "code", text: "f()" });
  });

  test("keeps HTML as the text that it is", () => {
    const html = '<script>alert(1)</script>\n\n<img src=x onerror="window.pwned=1"> and <b>bold</b>';
    expect(wordsIn(markdownNodes(html))).toContain('<img src=x onerror="window.pwned=1">');
    expect(wordsIn(markdownNodes(html))).toContain("<script>alert(1)</script>");
  });

  test("links only to where a click does nothing but go there", () => {
    const links = [
      "[a](https://example.org/x)",
      "[a](mailto:a@example.org)",
      "[a](javascript:alert(1))",
      "[a](JaVaScRiPt:alert(1))",
      "[a](java\tscript:alert(1))",
      "[a](&#106;avascript:alert(1))",
      "[a](data:text/html,<script>alert(1)</script>)",
      "[a](vbscript:x)",
      "[a](//elsewhere.example)",
      "[a](/runs/q-1)",
      "[a][r]\n\n[r]: javascript:alert(1)",
      "<javascript:alert(1)>",
    ].join("\n\n");
    expect(addresses(markdownNodes(links))).toEqual(["https://example.org/x", "mailto:a@example.org"]);
  });

  test.each([
    ['"https://a.example/x"', "https://a.example/x"],
    ['{"url":"https://a.example/x","n":1}', "https://a.example/x"],
    ["['https://a.example/x']", "https://a.example/x"],
    ["(see https://a.example/x).", "https://a.example/x"],
    ["“https://a.example/x”, he wrote", "https://a.example/x"],
    ["https://a.example/wiki/Clock_(tower)", "https://a.example/wiki/Clock_(tower)"],
    ["https://a.example/?list[]=1&b=%22", "https://a.example/?list[]=1&b=%22"],
    ["write to anna@a.example, please", "mailto:anna@a.example"],
  ])("ends an address in a text where it ends: %s", (written, address) => {
    expect(addresses(markdownNodes(written))).toEqual([address]);
    expect(wordsIn(markdownNodes(written))).toBe(written);
  });

  test("shows where a link that is none would have led", () => {
    expect(wordsIn(markdownNodes("[a](file:///etc/passwd)"))).toBe("a (file:///etc/passwd)");
  });

  test("turns images into links: nothing is fetched from elsewhere", () => {
    const nodes = markdownNodes("![plan](https://evil.example/x.png?leak=1)");
    expect(addresses(nodes)).toEqual(["https://evil.example/x.png?leak=1"]);
    expect(JSON.stringify(nodes)).not.toContain("image");
  });

  test("is not nested until the page breaks", () => {
    const deep = `${"> ".repeat(3_000)}end`;
    expect(wordsIn(markdownNodes(deep))).toContain("end");
  });

  test("is shown as it was written where reading it would take seconds", () => {
    const dense = "_a".repeat(25_000);
    expect(markdownNodes(dense)).toEqual([{ kind: "paragraph", children: [{ kind: "text", text: dense }] }]);
  });

  test("knows addresses as a browser reads them", () => {
    expect(safeAddress(" https://example.org ")).toBe("https://example.org/");
    expect(safeAddress("\u0000javascript:alert(1)")).toBeNull();
    expect(safeAddress("")).toBeNull();
  });
});

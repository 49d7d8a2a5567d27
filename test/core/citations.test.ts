import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CitedSource, checkCitations } from "../../src/core/citations.ts";

const page = (url: string, text = ""): CitedSource => ({ url, text });

/** The addresses that a report cites, with no fetched sources. */
const citedIn = (report: string) => checkCitations(report, []).unfetched;

describe("an address in a report", () => {
  it.each<[string, string, readonly string[]]>([
    ["stands alone", "https://example.com/a", ["https://example.com/a"]],
    ["ends a sentence", "See http://example.com/a. And?", ["http://example.com/a"]],
    ["ends with several punctuation marks", "Is it https://example.com/a?!…,", ["https://example.com/a"]],
    [
      "is in brackets",
      "(see https://example.com/a), [https://example.com/b]",
      ["https://example.com/a", "https://example.com/b"],
    ],
    ["has brackets in it", "(https://example.com/a_(b)_c), x", ["https://example.com/a_(b)_c"]],
    [
      "has a query with brackets",
      "https://example.com/?a[]=1&b[c]=2 x",
      ["https://example.com/?a[]=1&b[c]=2"],
    ],
    [
      "is in quotes",
      `"https://example.com/a" 'https://example.com/b' “https://example.com/c”`,
      ["https://example.com/a", "https://example.com/b", "https://example.com/c"],
    ],
    ["is in a quoted string of code", "get('https://example.com/a'+x)", ["https://example.com/a"]],
    ["has an apostrophe", "https://example.com/Newton's_method is", ["https://example.com/Newton's_method"]],
    [
      "is one of several without spaces",
      "https://example.com/a,https://example.com/b;http://c.example",
      ["https://example.com/a", "https://example.com/b", "http://c.example"],
    ],
    [
      "contains another one",
      "https://archive.example/web/https://example.com/a x",
      ["https://archive.example/web/https://example.com/a"],
    ],
    [
      "is a Markdown link",
      '[a](https://example.com/a_(b) "title") [b](https://example.com/b)',
      ["https://example.com/a_(b)", "https://example.com/b"],
    ],
    [
      "is a Markdown picture in a link",
      "[![i](https://example.com/i.png)](https://example.com/a)",
      ["https://example.com/i.png", "https://example.com/a"],
    ],
    [
      "is a Markdown reference",
      "[1]: https://example.com/1\n[2]: <https://example.com/2> 'two'",
      ["https://example.com/1", "https://example.com/2"],
    ],
    ["is in angle brackets", "<https://example.com/a>", ["https://example.com/a"]],
    [
      "is emphasised",
      "**https://example.com/a** _https://example.com/b_ ~~https://example.com/c~~",
      ["https://example.com/a", "https://example.com/b", "https://example.com/c"],
    ],
    ["is code", "`https://example.com/a`", ["https://example.com/a"]],
    ["is in a table", "|https://example.com/a|x|", ["https://example.com/a"]],
    ["ends with an underscore", "https://example.com/a_", ["https://example.com/a_"]],
    ["has Markdown escapes", "https://example.com/a\\_b\\_c", ["https://example.com/a_b_c"]],
    ["is in escaped JSON", '{\\"url\\":\\"https://example.com/a\\"}', ["https://example.com/a"]],
    [
      "is in the href of a link",
      `<a class="x" href="https://example.com/?a=1&amp;b=2#c">x</a>`,
      ["https://example.com/?a=1&b=2#c"],
    ],
    [
      "is in an href in single quotes",
      "<A HREF = 'https://example.com/a.' >x</A>",
      ["https://example.com/a."],
    ],
    ["is in an href without quotes", "<a href=https://example.com/a>x</a>", ["https://example.com/a"]],
    ["is the text of a link", `<a href="/local">https://example.com/a</a>`, ["https://example.com/a"]],
    [
      "has entities",
      "https://example.com/?a=1&amp;b=&#50;&#x33;&copy=4&#1114112;",
      ["https://example.com/?a=1&b=23&copy=4&#1114112"],
    ],
    ["is in displayed HTML", "&lt;a href=&quot;https://example.com/a&quot;&gt;", ["https://example.com/a"]],
    [
      "is followed by another script",
      "参照：https://example.com/a。次は「https://example.com/b」です",
      ["https://example.com/a", "https://example.com/b"],
    ],
    ["has letters of another script", "https://example.com/日本 x", ["https://example.com/日本"]],
    ["is in capitals", "HTTPS://EXAMPLE.COM/A", ["HTTPS://EXAMPLE.COM/A"]],
    ["is an IPv6 address", "http://[::1]:8080/x.", ["http://[::1]:8080/x"]],
    ["is in an unclosed comment", "<!-- https://example.com/a", ["https://example.com/a"]],
    ["is invalid", "https://exa%mple/ x", ["https://exa%mple/"]],
  ])("is found if it %s", (_, report, urls) => {
    expect(citedIn(report)).toEqual(urls);
  });

  it.each([
    ["has another scheme", "mailto:a@example.com ftp://example.com javascript:alert(1)"],
    ["has no scheme", "www.example.com example.com/a //example.com/a"],
    ["is incomplete", "https:// https://... http://, (https://)"],
    ["is relative to the page", `<a href="#top">x</a> <a href="report.pdf">y</a>`],
    [
      "names a format",
      `<!DOCTYPE html PUBLIC "-//W3C//DTD" "http://www.w3.org/TR"><svg xmlns="http://www.w3.org/2000/svg">`,
    ],
    [
      "is never shown",
      "<!-- https://a.example --><script>fetch('https://b.example'); x = '<a href=https://d.example>'</script ><style>@import url(https://c.example)</style>",
    ],
    [
      "is loaded by the page",
      `<link rel="stylesheet" href="https://a.example/x.css"><img src="https://b.example/i.png">`,
    ],
  ])("is ignored if it %s", (_, report) => {
    expect(citedIn(report)).toEqual([]);
  });

  it("is found after hidden parts too", () => {
    expect(citedIn("<script>1</script>https://a.example<!-- x -->https://b.example <style>x")).toEqual([
      "https://a.example",
      "https://b.example",
    ]);
  });
});

describe("an address that was fetched", () => {
  it.each([
    ["https://example.com", "https://example.com/"],
    ["https://EXAMPLE.com:443/a", "https://example.com/a"],
    ["http://example.com:80/a#part", "http://example.com/a#other"],
    ["https://example.com/a_%28b%29", "https://example.com/a_(b)"],
    ["https://example.com/%e9%7e", "https://example.com/%E9~"],
    ["https://example.com/日本", "https://example.com/%E6%97%A5%E6%9C%AC"],
    ["https://example.com/a/../b", "https://example.com/b"],
  ])("is recognised: %s is %s", (cited, fetched) => {
    expect(checkCitations(`See ${cited} .`, [page(fetched)])).toEqual({
      uncited: [],
      unfetched: [],
      citesNothing: false,
    });
  });

  it.each([
    ["https://example.com/a", "http://example.com/a"],
    ["https://example.com/a", "https://example.com/a/"],
    ["https://example.com/a", "https://example.com/A"],
    ["https://example.com/?a=1", "https://example.com/?a=2"],
    ["https://example.com:8443/", "https://example.com/"],
    ["https://example.com/a%2Fb", "https://example.com/a/b"],
    ["https://www.example.com/", "https://example.com/"],
  ])("is not mistaken for another: %s is not %s", (cited, fetched) => {
    expect(checkCitations(cited, [page(fetched)])).toEqual({
      uncited: [],
      unfetched: [cited],
      citesNothing: true,
    });
  });

  it("is reported once, in its first spelling in the report", () => {
    expect(citedIn("https://A.example/#1 https://a.example https://b.example https://a.example/")).toEqual([
      "https://A.example/#1",
      "https://b.example",
    ]);
  });
});

const eight = "a ratchet lets a wheel turn one way";
const source = page("https://example.com/ratchets", `Of old: ${eight} only, and never back.`);

describe("a source", () => {
  it("is used without being cited if the report has eight consecutive words of it", () => {
    expect(checkCitations(`We know that ${eight}.`, [source])).toEqual({
      uncited: [source.url],
      unfetched: [],
      citesNothing: true,
    });
    expect(checkCitations(`We know that ${eight} (${source.url}).`, [source]).uncited).toEqual([]);
  });

  it("is not used if the report has only seven", () => {
    const [first, ...seven] = eight.split(" ");
    expect(first).toBe("a");
    expect(checkCitations(`We know that ${seven.join(" ")} first.`, [source]).uncited).toEqual([]);
    expect(checkCitations("A ratchet lets the wheel turn one way only and never.", [source]).uncited).toEqual(
      [],
    );
  });

  it.each([
    ["capitals and punctuation", "A RATCHET: lets (a wheel) -- turn;\n\none, way!"],
    ["Markdown", "a **ratchet** lets\n> a _wheel_ `turn` [one](#x 'here') way"],
    ["a Markdown link in between", "a ratchet [lets a](https://x.example/some/long/path) wheel turn one way"],
    ["HTML", "<p>a <b>rat</b>chet lets<br>a <a href='x'>wheel</a></p><p>turn one&nbsp;way"],
    ["entities", "a ratchet lets a wheel turn one&#32;way"],
    ["invisible characters", "a rat\u00adchet lets a wheel\u200b turn one way"],
    ["other forms of letters", "a ｒａｔｃｈｅｔ lets a wheel turn one way"],
  ])("is used despite %s", (_, report) => {
    expect(checkCitations(report, [source]).uncited).toEqual([source.url]);
    expect(checkCitations(eight, [page("https://x.example", report)]).uncited).toEqual(["https://x.example"]);
  });

  it("is not used by words in hidden parts", () => {
    expect(checkCitations(`<script>${eight}</script><!-- ${eight} -->`, [source]).uncited).toEqual([]);
  });

  it("is compared character by character in scripts without spaces", () => {
    const text = "棘輪は車輪を一方向に回す";
    expect(checkCitations(`曰く「${text}」`, [page("https://x.example", `${text}。`)]).uncited).toHaveLength(
      1,
    );
    expect(checkCitations("棘輪は回る", [page("https://x.example", text)]).uncited).toEqual([]);
  });

  it("is reported once, however often it was fetched", () => {
    const sources = [
      page("https://x.example", "nothing"),
      page("https://X.example/#a", eight),
      page("https://x.example", eight),
    ];
    expect(checkCitations(eight, sources).uncited).toEqual(["https://X.example/#a"]);
  });

  it("that is too short for a passage is never used", () => {
    expect(checkCitations("", [page("https://x.example")]).uncited).toEqual([]);
    expect(checkCitations("one two", [page("https://x.example", "one two")]).uncited).toEqual([]);
  });

  it("is used exactly if one of its sequences of eight words is in the report", () => {
    const words = fc.array(fc.constantFrom("a", "b"), { minLength: 5, maxLength: 30, size: "max" });
    let used = 0;
    fc.assert(
      fc.property(words, words, (report, text) => {
        const runs = new Set(
          report
            .map((_, at) => report.slice(at, at + 8))
            .filter((run) => run.length === 8)
            .map(String),
        );
        const isUsed = text.some((_, at) => runs.has(String(text.slice(at, at + 8))));
        used += isUsed ? 1 : 0;
        const { uncited } = checkCitations(report.join(" "), [page("https://x.example", text.join(" "))]);
        expect(uncited.length === 1).toBe(isUsed);
      }),
      { numRuns: 1_000 },
    );
    expect(used).toBeGreaterThan(20);
  });
});

describe("a report", () => {
  it("that cites none of the fetched sources is reported, whatever else it cites", () => {
    expect(checkCitations("All my own.", [source]).citesNothing).toBe(true);
    expect(checkCitations("https://other.example", [source]).citesNothing).toBe(true);
    expect(checkCitations(source.url, [source, page("https://other.example")]).citesNothing).toBe(false);
  });

  it("has nothing to cite if nothing was fetched", () => {
    expect(checkCitations("All my own.", [])).toEqual({ uncited: [], unfetched: [], citesNothing: false });
  });

  it("is checked whatever it contains", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "<a href=",
      "<!--",
      "https://",
      "&#",
      ";",
      "](",
      ")",
      "'",
      "\\",
      "\ud800",
      "x ",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(fc.oneof(piece, fc.string({ maxLength: 3 }))).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, text, fc.oneof(fc.string(), fc.webUrl()), (report, source, url) => {
        const { unfetched } = checkCitations(report, [page(url, source)]);
        expect(unfetched.every((each) => /^https?:\/\/./i.test(each))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  // Inputs that take quadratic time in a parser that restarts at every position.
  it.each([
    "<",
    "<!doctype ",
    "<script ",
    "<a href=",
    "<a href",
    "https://",
    "https://a)",
    "](",
    "https://'",
    "https://(",
    "&#",
    ".",
    "\\",
  ])("with a book's length of %j is checked too", (piece) => {
    const report = piece.repeat(200_000 / piece.length);
    expect(
      checkCitations(`${report} ${eight}`, [{ url: source.url, text: `${report} ${eight}` }]).uncited,
    ).toEqual([source.url]);
  });

  it.each(["<!--", "<style>"])("that never closes any of its many %s is checked too", (piece) => {
    expect(citedIn(`${piece.repeat(200_000)} https://a.example`)).toEqual(["https://a.example"]);
  });

  it("as long as a book is compared with books", () => {
    const words = Array.from({ length: 50_000 }, (_, index) => `w${(index * index) % 997}`);
    const sources = [
      page("https://x.example", words.toReversed().join(" ")),
      page("https://y.example", words.join(" ")),
    ];
    expect(checkCitations(words.join("\n"), sources).uncited).toContain("https://y.example");
  });
});

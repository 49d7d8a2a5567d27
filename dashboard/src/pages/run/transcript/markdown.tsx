import { Fragment, type ReactNode, useMemo } from "react";
import { shownLine, VisibleText } from "../../../parts/text/visible.tsx";
import { type MarkdownNode, markdownNodes } from "./markdown-nodes.ts";

/** A text of a model as markdown: elements that are made here, and never a string of HTML. */
export function Markdown({ text, isRaw }: { readonly text: string; readonly isRaw: boolean }): ReactNode {
  const nodes = useMemo(() => (isRaw ? [] : markdownNodes(text)), [isRaw, text]);
  if (isRaw) return <VisibleText text={text} />;
  return <div className="flex min-w-0 flex-col gap-2">{elements(nodes)}</div>;
}

function elements(nodes: readonly MarkdownNode[]): ReactNode {
  // A text does not change its order, so that places will do as keys.
  return nodes.map((node, index) => <Fragment key={index}>{element(node)}</Fragment>);
}

const HEADINGS = ["text-lg font-semibold", "text-md font-semibold", "font-semibold"] as const;

function element(node: MarkdownNode): ReactNode {
  switch (node.kind) {
    case "text":
      return <VisibleText text={node.text} />;
    case "break":
      return <br />;
    case "rule":
      return <hr className="border-line" />;
    case "code":
      return (
        <pre className="overflow-x-auto rounded-md border border-line bg-sunken p-2 whitespace-pre">
          <code>
            <VisibleText text={node.text} />
          </code>
        </pre>
      );
    case "inline_code":
      return (
        <code className="rounded-sm bg-sunken px-1">
          <VisibleText text={node.text} />
        </code>
      );
    case "heading":
      // Not a heading of the page: its outline is not the model's to write.
      return <p className={HEADINGS[node.level - 1] ?? "font-medium"}>{elements(node.children)}</p>;
    case "paragraph":
      return <p className="whitespace-pre-wrap">{elements(node.children)}</p>;
    case "quote":
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-edge pl-3 text-ink-2">
          {elements(node.children)}
        </blockquote>
      );
    case "strong":
      return <strong>{elements(node.children)}</strong>;
    case "em":
      return <em>{elements(node.children)}</em>;
    case "del":
      return <del>{elements(node.children)}</del>;
    case "link":
      return (
        <a
          href={node.href}
          title={shownLine(node.href)}
          target="_blank"
          rel="noopener noreferrer"
          className="text-accent underline"
        >
          {elements(node.children)}
        </a>
      );
    case "list":
      return node.start === null ? (
        <ul className="list-disc pl-5">{listItems(node.items)}</ul>
      ) : (
        <ol start={node.start} className="list-decimal pl-6">
          {listItems(node.items)}
        </ol>
      );
    case "table":
      return <MarkdownTable head={node.head} rows={node.rows} />;
  }
}

function listItems(items: readonly (readonly MarkdownNode[])[]): ReactNode {
  return items.map((children, index) => <li key={index}>{elements(children)}</li>);
}

function MarkdownTable({
  head,
  rows,
}: Pick<Extract<MarkdownNode, { kind: "table" }>, "head" | "rows">): ReactNode {
  return (
    <div className="overflow-x-auto">
      <table className="border-collapse [&_td]:border [&_td]:border-line [&_td]:px-2 [&_td]:py-0.5 [&_th]:border [&_th]:border-line [&_th]:px-2 [&_th]:py-0.5 [&_th]:text-left">
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index}>{elements(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place}>{elements(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

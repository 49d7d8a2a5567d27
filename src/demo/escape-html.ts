const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For texts and for attribute values in either kind of quotation marks. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** The inverse, for what `escapeHtml` makes. */
export function unescapeHtml(html: string): string {
  return html.replace(
    /&(?:amp|lt|gt|quot|#39);/g,
    (entity) => Object.keys(ENTITIES).find((character) => ENTITIES[character] === entity) ?? entity,
  );
}

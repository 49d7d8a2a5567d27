import { filterOf, filterSearch, type RunFilter, type RunView } from "./run-filter.ts";

const KEY = "pawl-run-views";
const MOST = 20;

/** Views that the person has saved in this browser. What is stored may be from another version, or anything else. */
export function parseViews(stored: string | null): readonly RunView[] {
  try {
    const views: unknown = JSON.parse(stored ?? "[]");
    if (!Array.isArray(views)) return [];
    return views
      .filter((view): view is { name: string; search: string } => isSaved(view))
      .slice(0, MOST)
      .map(({ name, search }) => ({ name, filter: filterOf(search) }));
  } catch {
    return [];
  }
}

function isSaved(view: unknown): boolean {
  if (typeof view !== "object" || view === null || !("name" in view) || !("search" in view)) return false;
  return typeof view.name === "string" && typeof view.search === "string";
}

export function savedViews(): readonly RunView[] {
  return parseViews(localStorage.getItem(KEY));
}

/** A name that is there already is replaced. */
export function saveView(name: string, filter: RunFilter): readonly RunView[] {
  const others = savedViews().filter((view) => view.name !== name);
  return storeViews([...others, { name, filter }].slice(-MOST));
}

export function forgetView(name: string): readonly RunView[] {
  return storeViews(savedViews().filter((view) => view.name !== name));
}

function storeViews(views: readonly RunView[]): readonly RunView[] {
  const stored = views.map(({ name, filter }) => ({ name, search: filterSearch(filter) }));
  localStorage.setItem(KEY, JSON.stringify(stored));
  return views;
}

/** Cycles in a graph of files, each as the path that leads back to where it began; at least one for every knot. */
export function findCycles(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const finished = new Set<string>();
  const path: string[] = [];

  const visit = (file: string): void => {
    const onPath = path.indexOf(file);
    if (onPath !== -1) {
      cycles.push([...path.slice(onPath), file]);
      return;
    }
    if (finished.has(file)) return;
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    finished.add(file);
  };

  for (const file of graph.keys()) visit(file);
  return cycles;
}

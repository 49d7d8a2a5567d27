import { useMemo } from "react";
import { navigate, useSearch } from "wouter/use-browser-location";
import { type AnyParams, changedSearch, type ParamValues, readParams } from "./search-params.ts";

type Change<P extends AnyParams> = (
  change: Partial<ParamValues<P>>,
  /** `replace` for what changes with every key: `back` skips it. */
  options?: { readonly replace?: boolean },
) => void;

/** The parameters of the address, and how to change some of them. Define the parameters outside of the component. */
export function useSearchParams<P extends AnyParams>(params: P): readonly [ParamValues<P>, Change<P>] {
  const search = useSearch();
  const values = useMemo(() => readParams(params, search), [params, search]);
  const change: Change<P> = (part, options) => {
    navigate(location.pathname + changedSearch(params, location.search, part), options);
  };
  return [values, change];
}

import { read } from './recorded.ts';

/** One item of the workbook, as far as tests read it. Types: 1 text, 3 query, 9 parameters, 10 metrics. */
export interface WorkbookItem {
  readonly type: number;
  readonly name: string;
  readonly content: {
    readonly json?: string;
    readonly query?: string;
    readonly title?: string;
    readonly visualization?: string;
    readonly resourceType?: string;
    readonly crossComponentResources?: ReadonlyArray<string>;
    readonly timeContextFromParameter?: string;
    readonly resourceIds?: ReadonlyArray<string>;
    readonly metrics?: ReadonlyArray<{
      readonly metric: string;
      readonly splitBy: string;
      readonly aggregation: number;
    }>;
    readonly parameters?: ReadonlyArray<{ readonly id: string; readonly name: string; readonly type: number }>;
  };
}

/** The workbook's text, with what the module fills in still open. */
export const workbookText = read('infra/portal/workbook.json');

/** The workbook. */
export const workbook = JSON.parse(workbookText) as {
  readonly version: string;
  readonly items: ReadonlyArray<WorkbookItem>;
  readonly fallbackResourceIds: ReadonlyArray<string>;
};

/** Its items that ask the workspace. */
export const queryPanels = workbook.items.filter(({ type }) => type === 3);

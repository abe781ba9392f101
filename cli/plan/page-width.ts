/** Columns that the plan for people keeps within: what a terminal has unless somebody widens it. */
export const PAGE_WIDTH = 80;

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { paint } from '../../sandbox/start/screen/ansi.ts';
import { renderScreen, type Size } from '../../sandbox/start/screen/render-screen.ts';
import { readPrices } from '../../sandbox/start/view/price-list.ts';
import type { Recording } from './recording.ts';
import { replay } from './replay.ts';
import { type Scene, scenes } from './scenes.ts';

const root = resolve(import.meta.dirname, '../..');

/** The terminal that most people have, a large window, and a whole display. */
export const sizes: ReadonlyArray<Size> = [
  { columns: 80, rows: 24 },
  { columns: 130, rows: 40 },
  { columns: 200, rows: 50 },
];

/** The region whose prices the sandbox has when nobody says otherwise. */
const REGION = 'westeurope';

/** What was recorded of the scene. */
export function readRecording({ name }: Scene): Recording {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'data', `${name}.json`), 'utf8')) as Recording;
}

/** The screen of the scene as lines without colours. */
export function drawScene(scene: Scene, size: Size): ReadonlyArray<string> {
  const screen = replay(readRecording(scene), readPrices(root, REGION));
  return renderScreen(screen, size).map((line) => paint(line, false).trimEnd());
}

/**
 * The pages with the screens, by path from the root: `docs/screens.md` in the first size, a text file for each other.
 */
export function renderScreenPages(): ReadonlyMap<string, string> {
  const [first, ...others] = sizes;
  if (first === undefined) throw new Error('there is no size to draw');
  const files = others.map((size) => [`docs/screens/${nameOf(size)}.txt`, renderText(size)] as const);
  return new Map([['docs/screens.md', renderPage(first, others)], ...files]);
}

function nameOf({ columns, rows }: Size): string {
  return `${columns}x${rows}`;
}

function renderPage(first: Size, others: ReadonlyArray<Size>): string {
  const links = others.map((size) => `[${size.columns} × ${size.rows}](screens/${nameOf(size)}.txt)`).join(' and ');
  const parts = scenes.map((scene) => {
    const screen = drawScene(scene, first).map((line) => (line === '' ? '' : `    ${line}`));
    return `## ${scene.title}\n\n    ${scene.command}\n\n${scene.next} ${scene.shows}\n\n${screen.join('\n')}\n`;
  });
  return `# What the sandbox shows

This page shows eight runs of the sandbox, each with the command that starts it. The terminal below has ${first.columns} columns and ${first.rows} lines.
Other pages show the same runs in larger terminals: ${links}.

The first two lines of a screen say what all nodes cost per hour, how many nodes are ready, and how many pods run. Below them are the nodes, then lines with
\`!\` (reasons why pods or nodes wait), then the messages (the "news"), commands and keys. A text that is too long ends with \`…\`. The arrow keys scroll the nodes, PgUp and PgDn the news.

\`npm run generate\` draws this page from recorded runs. \`node scripts/screens/record.ts\` records the runs again.

${parts.join('\n')}`;
}

function renderText(size: Size): string {
  return scenes
    .map((scene) => {
      const border = '─'.repeat(size.columns);
      return `${scene.title}: ${scene.command}\n${border}\n${drawScene(scene, size).join('\n')}\n${border}\n`;
    })
    .join('\n');
}

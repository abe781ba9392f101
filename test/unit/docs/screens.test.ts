import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { drawScene, readRecording, renderScreenPages, sizes } from '../../../scripts/screens/pages.ts';
import { replayLog } from '../../../scripts/screens/replay.ts';
import { scenes } from '../../../scripts/screens/scenes.ts';

const root = resolve(import.meta.dirname, '../../..');

describe('the pages of screens', () => {
  test.each([...renderScreenPages()])('%s is as npm run generate writes it', (path, text) => {
    expect(existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '').toBe(text);
  });
});

describe.each(scenes)('$title', (scene) => {
  test.each(sizes)('fills $columns columns and $rows lines, and has room for nodes and news', (size) => {
    const lines = drawScene(scene, size);
    expect(lines).toHaveLength(size.rows);
    expect(lines.filter((line) => line.length > size.columns)).toEqual([]);
    expect(lines.findIndex((line) => line.startsWith('NODE '))).toBe(3);
    const newest = replayLog(readRecording(scene)).news().at(-1)?.text ?? '';
    const start = newest.slice(0, 30);
    expect(lines.some((line) => /^ *\d+:\d\d {2}/.test(line) && line.includes(start))).toBe(true);
    expect(lines.at(-1)).toMatch(/^Keys: /);
  });

  test('tells what happens in sentences, none of which is the same as the one before', () => {
    const texts = replayLog(readRecording(scene))
      .news()
      .map(({ text }) => text);
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.filter((text) => !/^\S.*\.$/.test(text))).toEqual([]);
    expect(texts.filter((text, index) => text === texts[index - 1])).toEqual([]);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { sectionOf, versionFaults } from '../../../scripts/release/changelog.ts';
import { krewManifest } from '../../../scripts/release/krew-manifest.ts';
import { deadLinks, withReachableLinks } from '../../../scripts/release/links.ts';
import { bundledPackages, renderNotices } from '../../../scripts/release/notices.ts';
import { releaseNotes } from '../../../scripts/release/release-notes.ts';

const root = join(import.meta.dirname, '../../..');
const changelog =
  '# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.0 (2026-12-01)\n\n- had\n\n## 1.2.0-rc1\n\n- tried\n';
const whole = { tag: 'v1.2.0', version: '1.2.0', chart: { version: '1.2.0', appVersion: '1.2.0' }, changelog };

describe('versions', () => {
  test('agree: package.json, chart, tag and changelog', () => {
    expect(versionFaults(whole)).toEqual([]);
    expect(sectionOf(changelog, '1.2.0')).toBe('- had');
  });

  test.each([
    ['another tag', { tag: '1.2.0' }, 'the tag is 1.2.0, and package.json says 1.2.0: tag it v1.2.0'],
    [
      'another chart',
      { chart: { version: '1.2.0', appVersion: '1.1.0' } },
      'infra/chart/Chart.yaml says 1.2.0 and 1.1.0',
    ],
    ['nothing in the changelog', { changelog: '## Unreleased\n\n- new\n' }, 'CHANGELOG.md says nothing of 1.2.0'],
    ['an empty section', { changelog: '## 1.2.0 (2026-12-01)\n\n## 1.1.0\n' }, 'CHANGELOG.md says nothing of 1.2.0'],
    ['no day', { changelog: '## 1.2.0\n\n- had\n' }, 'CHANGELOG.md has 1.2.0 without a day'],
  ])('that do not are refused: %s', (_, change, fault) => {
    expect(versionFaults({ ...whole, ...change })).toEqual([expect.stringContaining(fault)]);
  });

  test('of the changelog as it is: what comes next has a place to stand', () => {
    expect(sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), 'Unreleased')).not.toBe(null);
  });
});

test('krew finds an archive of npm, whose command is in its folder package', () => {
  const archive = {
    version: '1.2.0',
    homepage: 'https://example.com/p',
    url: 'https://example.com/a.tgz',
    sha256: 'ab',
  };
  expect(parse(krewManifest(archive))).toMatchObject({
    kind: 'Plugin',
    metadata: { name: 'nodewright' },
    spec: {
      version: 'v1.2.0',
      homepage: 'https://example.com/p',
      platforms: [{ uri: 'https://example.com/a.tgz', sha256: 'ab', bin: 'package/cli/bin.js' }],
    },
  });
});

test('the notes of a release lead to each of its parts', () => {
  const notes = releaseNotes({
    version: '1.2.0',
    repository: 'o/p',
    download: 'https://github.com/o/p/releases/download/v1.2.0',
    relayImage: `ghcr.io/o/nodewright-relay@sha256:${'0'.repeat(64)}`,
    chart: 'oci://ghcr.io/o/charts/nodewright',
    changes: '- had',
  });
  expect(notes).toContain('npx nodewright@1.2.0 deploy --cluster');
  expect(notes).toContain(
    'Microsoft.Template/uri/https%3A%2F%2Fgithub.com%2Fo%2Fp%2Freleases%2Fdownload%2Fv1.2.0%2Fmain.json)',
  );
  expect(notes).toContain('helm install nodewright oci://ghcr.io/o/charts/nodewright --version 1.2.0');
  expect(notes).toMatch(/gh attestation verify oci:\/\/ghcr\.io\/o\/nodewright-relay@sha256:0{64} --repo o\/p/);
  expect(notes).toContain('- had');
});

describe('links of the package’s pages', () => {
  const there = new Set(['docs/deploy.md', 'README.md']);
  const given = { isThere: (path: string) => there.has(path), source: { repository: 'o/p', version: '1.2.0' } };
  const blob = 'https://github.com/o/p/blob/v1.2.0';

  test.each([
    ['docs/a.md', '[d](deploy.md#remove)', '[d](deploy.md#remove)'],
    ['docs/a.md', '[d](decisions/0001-x.md#why)', `[d](${blob}/docs/decisions/0001-x.md#why)`],
    ['docs/a.md', '[r](../README.md), [c](../CONTRIBUTING.md)', `[r](../README.md), [c](${blob}/CONTRIBUTING.md)`],
    ['infra/chart/README.md', '[k](../kubernetes/README.md)', `[k](${blob}/infra/kubernetes/README.md)`],
    [
      'README.md',
      '[h](https://x.example/a) [t](#try-it) [m](mailto:a@b.c)',
      '[h](https://x.example/a) [t](#try-it) [m](mailto:a@b.c)',
    ],
  ])('in %s: %s', (page, text, wanted) => {
    expect(withReachableLinks(text, page, given)).toBe(wanted);
    expect(deadLinks(wanted, page, given.isThere)).toEqual([]);
    if (text !== wanted) expect(deadLinks(text, page, given.isThere)).toHaveLength(1);
  });
});

describe('notices', () => {
  test('name each package once, with the text of its licence', () => {
    const found = bundledPackages([
      'cli/main.ts',
      'node_modules/yaml/dist/index.js',
      'node_modules/yaml/dist/compose.js',
      'node_modules/@azure/core-util/dist/index.js',
    ]);
    expect(found.map(({ name, license }) => [name, license])).toEqual([
      ['@azure/core-util', 'MIT'],
      ['yaml', 'ISC'],
    ]);
    const text = renderNotices(found);
    expect(text).toContain('Permission to use, copy, modify, and/or distribute this software');
    expect(text).toContain('Copyright (c) Microsoft Corporation');
  });

  test('of packages alike have their text once', () => {
    const terms = { license: 'MIT', text: 'as it is' };
    const text = renderNotices([
      { name: 'a', version: '1', ...terms },
      { name: 'b', version: '2', ...terms },
    ]);
    expect(text).toContain('a 1\nb 2\n\nMIT\n\nas it is');
    expect(text.match(/as it is/g)).toHaveLength(1);
  });

  test('are refused for a package that names no licence', () => {
    expect(() => renderNotices([{ name: 'a', version: '1', license: '', text: '' }])).toThrow('a: no licence is named');
  });
});

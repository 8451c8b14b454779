// The generated part of the documentation: each page is written from the one table in the code that holds its facts, so
// that it cannot say anything else. A test compares the files with what stands here.

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { renderEnvExample } from './config.ts'
import { REFUSALS } from './core/errors.ts'
import { FAILURES } from './core/failures.ts'
import { ALL_SETTINGS } from './settings.ts'

const ROOT = new URL('../', import.meta.url)

/** Every generated file, by its path from the root of the repository. */
export function renderDocs(): Record<string, string> {
  return {
    '.env.example': renderEnvExample(),
    'docs/generated/config.md': renderSettings(),
    'docs/generated/refusals.md': renderRefusals(),
    'docs/generated/failures.md': renderFailures(),
  }
}

export async function writeDocs(root: URL = ROOT): Promise<string[]> {
  const docs = Object.entries(renderDocs())
  for (const [path, text] of docs) {
    const file = new URL(path, root)
    await mkdir(dirname(file.pathname), { recursive: true })
    await writeFile(file, text)
  }
  return docs.map(([path]) => path)
}

function renderSettings(): string {
  const rows = ALL_SETTINGS.map(({ name, fallback, meaning }) => [
    code(name),
    fallback === null ? '–' : code(fallback),
    meaning,
  ])
  return page('Settings', 'src/settings.ts', ['Variable', 'Default', 'Meaning'], rows)
}

function renderRefusals(): string {
  const rows = Object.entries(REFUSALS).map(([name, { http, type, retryable, message }]) => [
    code(name),
    String(http),
    code(type),
    retryable ? 'yes' : 'no',
    message,
  ])
  return page('Refusals', 'src/core/errors.ts', ['Code', 'HTTP', 'Type', 'Retry as it is', 'Message'], rows)
}

function renderFailures(): string {
  const rows = Object.entries(FAILURES).map(([name, { category, retryable, message }]) => [
    code(name),
    category,
    retryable ? 'yes' : 'no',
    message,
  ])
  return page('Failures', 'src/core/failures.ts', ['Code', 'Category', 'May be tried again', 'Meaning'], rows)
}

function page(title: string, source: string, heads: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [
    `# ${title}`,
    '',
    `Written from \`${source}\` by \`npm run docs\`; change it there.`,
    '',
    line(heads),
    line(heads.map(() => '---')),
    ...rows.map(line),
    '',
  ].join('\n')
}

const code = (text: string) => `\`${text}\``

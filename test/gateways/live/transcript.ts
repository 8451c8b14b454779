// Transcripts of live runs under docs/live, and the table of what was seen and when.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STEPS, type Step, type StepName } from './run.ts'
import type { StepResult } from './steps.ts'

export const LIVE_FOLDER = 'docs/live'

export interface RunFacts {
  gateway: string
  title: string
  /** The day of the run, in UTC. */
  day: string
  baseUrl: string
  place: string
  version: string
}

export interface LiveRun extends RunFacts {
  steps: { name: StepName; result: StepResult }[]
}

const FIRST_LINE = /^<!-- run: (.*) -->$/

export function transcriptName({ gateway, day }: RunFacts): string {
  return `${gateway}-${day}.md`
}

export function renderTranscript(facts: RunFacts, steps: readonly Step[]): string {
  const run: LiveRun = { ...facts, steps: steps.map(({ name, result }) => ({ name, result })) }
  const rows = steps.map(({ name, result, detail }) => `| ${name} | ${result} | ${inCell(detail)} |`)
  return [
    `<!-- run: ${JSON.stringify(run)} -->`,
    `# ${facts.title}, ${facts.day}`,
    `\nCowry ${facts.version} at ${facts.baseUrl}: ${facts.place}. Secrets and personal data are replaced.\n`,
    '| Step | Result | What was seen |',
    '| --- | --- | --- |',
    ...rows,
    ...steps.filter(({ calls }) => calls.length > 0).map(renderCalls),
    '',
  ].join('\n')
}

const inCell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim()

function renderCalls({ name, calls }: Step): string {
  const blocks = calls.map(({ request, body, status, answer, ms }) =>
    [`\n\`${request}\` → ${status}, ${ms} ms\n`, ...jsonBlock(body), ...jsonBlock(answer)].join('\n'),
  )
  return `\n## ${name}\n${blocks.join('\n')}`
}

function jsonBlock(value: unknown): string[] {
  return value === null ? [] : ['```json', JSON.stringify(value, null, 2).replaceAll('```', "'''"), '```']
}

/** The runs whose transcripts are in the folder, the latest of each gateway first. */
export function readRuns(folder: string): LiveRun[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => readRun(join(folder, file)))
    .toSorted((one, other) => other.day.localeCompare(one.day) || one.gateway.localeCompare(other.gateway))
}

function readRun(path: string): LiveRun {
  const [first = ''] = readFileSync(path, 'utf8').split('\n')
  const facts = FIRST_LINE.exec(first)?.[1]
  if (facts === undefined) throw new Error(`${path} is not a transcript: its first line has no facts`)
  return JSON.parse(facts)
}

/** A gateway was seen live if a checkout began and was paid at the provider. */
export function wasSeenLive({ steps }: LiveRun): boolean {
  return ['checkout', 'payment'].every((name) =>
    steps.some((step) => step.name === name && step.result === 'seen'),
  )
}

export function renderTable(runs: readonly LiveRun[]): string {
  const head = `| Gateway | Day | ${STEPS.join(' | ')} |`
  const line = `| --- | --- |${STEPS.map(() => ' --- |').join('')}`
  const rows = runs.map((run) => {
    const results = STEPS.map((name) => run.steps.find((step) => step.name === name)?.result ?? 'left out')
    return `| [${run.title}](${transcriptName(run)}) | ${run.day} | ${results.join(' | ')} |`
  })
  const table = runs.length === 0 ? ['No run has been recorded yet.'] : [head, line, ...rows]
  return `${[INTRODUCTION, ...table].join('\n')}\n`
}

const INTRODUCTION = `# Live runs

\`npm run gateways:live -- --gateway <name>\` runs a connector against the provider's own sandbox and writes a transcript
here. A gateway is called *live* in the README only if a transcript shows a checkout that was paid.
`

// Reads the samples of a guide. Consecutive blocks in bash, ts, python and php are one step in several languages. What the
// step prints follows it: `json` is the response that curl prints, `text` is what a program prints, and `text receiver` is
// what the receiver of webhooks prints. A block that begins with a comment such as `// cowry.ts` is a file to save.

import { readFileSync } from 'node:fs'

export const LANGUAGES = ['bash', 'ts', 'python', 'php'] as const
export type Language = (typeof LANGUAGES)[number]

export interface Step {
  /** The line of its first sample in the page. */
  line: number
  samples: Partial<Record<Language, string>>
  /** For a file: its name in each language. */
  files: Partial<Record<Language, string>>
  json: string | undefined
  text: string | undefined
  receiver: string | undefined
}

interface Block {
  info: string
  code: string
  line: number
  /** True if only empty lines are between it and the block before. */
  isNext: boolean
}

export function readSteps(path: string): Step[] {
  const steps: Step[] = []
  for (const block of readBlocks(readFileSync(path, 'utf8'))) {
    if (isLanguage(block.info)) addSample(steps, block, block.info)
    else addResult(steps.at(-1), block)
  }
  return steps
}

function readBlocks(markdown: string): Block[] {
  const fences = markdown.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)
  let end = 0
  return [...fences].map((fence) => {
    const [whole, info = '', code = ''] = fence
    const isNext = markdown.slice(end, fence.index).trim() === ''
    end = fence.index + whole.length
    return { info, code, line: markdown.slice(0, fence.index).split('\n').length, isNext }
  })
}

function isLanguage(info: string): info is Language {
  return LANGUAGES.some((language) => language === info)
}

function addSample(steps: Step[], block: Block, language: Language): void {
  const last = steps.at(-1)
  const hasResult = last?.json ?? last?.text ?? last?.receiver
  const step: Step =
    last && block.isNext && !hasResult && !(language in last.samples)
      ? last
      : { line: block.line, samples: {}, files: {}, json: undefined, text: undefined, receiver: undefined }
  if (step !== last) steps.push(step)
  step.samples[language] = block.code
  const file = /^(?:<\?php )?(?:\/\/|#) (\w+\.(?:ts|py|php))\n/.exec(block.code)?.[1]
  if (file !== undefined) step.files[language] = file
}

function addResult(step: Step | undefined, { info, code }: Block): void {
  if (!step) return
  if (info === 'json') step.json ??= code
  if (info === 'text') step.text ??= code
  if (info === 'text receiver') step.receiver ??= code
}

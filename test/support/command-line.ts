// What the commands behind npm run have in common: --help shows how, and what is written wrongly is told in words.

import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** The options of a command that takes nothing else. */
export function parseOptions<const Wanted extends Options>(help: string, options: Wanted) {
  const { values, positionals } = parseArguments(help, options)
  return positionals.length === 0
    ? values
    : exitWithUsageError(`What is "${positionals[0]}"?\n\n${help.trimEnd()}`)
}

/** Ends the process with the help when it was asked for, and with what is wrong when something is. */
export function parseArguments<const Wanted extends Options>(help: string, options: Wanted) {
  if (process.argv.slice(2).includes('--help')) {
    process.stdout.write(help)
    process.exit(0)
  }
  try {
    return parseArgs({ allowNegative: true, allowPositionals: true, options })
  } catch (error) {
    // Node adds how one would name a file that looks like an option.
    const [words] = String(error instanceof Error ? error.message : error).split('. ')
    exitWithUsageError(`${words}\n\n${help.trimEnd()}`)
  }
}

export function parsePositiveInteger(name: string, text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0
    ? number
    : exitWithUsageError(`--${name} must be a whole number above zero.`)
}

export function exitWithUsageError(words: string): never {
  process.stderr.write(`${words}\n`)
  process.exit(2)
}

// Options of the commands behind npm run: --help prints the usage, and a wrong option prints an error.

import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** Parses the options of a command without positional arguments. */
export function parseOptions<const Wanted extends Options>(help: string, options: Wanted) {
  const { values, positionals } = parseArguments(help, options)
  return positionals.length === 0
    ? values
    : exitWithUsageError(`Unexpected argument "${positionals[0]}".\n\n${help.trimEnd()}`)
}

/** Prints the help and exits with 0 on --help; prints the error and exits with 2 on invalid options. */
export function parseArguments<const Wanted extends Options>(help: string, options: Wanted) {
  if (process.argv.slice(2).includes('--help')) {
    process.stdout.write(help)
    process.exit(0)
  }
  try {
    return parseArgs({ allowNegative: true, allowPositionals: true, options })
  } catch (error) {
    // Node appends a hint about files whose names look like options; drop it.
    const [message] = String(error instanceof Error ? error.message : error).split('. ')
    exitWithUsageError(`${message}\n\n${help.trimEnd()}`)
  }
}

export function parsePositiveInteger(name: string, text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0
    ? number
    : exitWithUsageError(`--${name} must be a whole number above zero.`)
}

export function exitWithUsageError(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

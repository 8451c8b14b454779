// A file that the user names.

import { readFile } from 'node:fs/promises'
import { CommandError } from './terminal.ts'

const LOOKS_LIKE_URL = /:\/\/|@/

/** What is given in place of a file may be a URL with a password: then the message does not contain it. */
export function readGivenFile(file: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw new CommandError('unreadable_file', unreadable(file, error))
  })
}

function unreadable(file: string, error: unknown): string {
  if (LOOKS_LIKE_URL.test(file))
    return 'What was given in place of a file cannot be read: it looks like a URL.'
  return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`
}

// cowry docs: writes all files that are generated from tables in the code.

import type { Command } from 'commander'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'

export function addDocsCommand(program: Command, shell: Shell): void {
  withJson(program.command('docs'))
    .description('Write the OpenAPI documents, .env.example and docs/generated from the code.')
    .action(async (options: JsonOption) => {
      const files = await shell.entryPoints.writeDocs()
      const message = `${files.length} files written.`
      shell.show({ status: 'success', message, data: { files } }, options, () =>
        [...files, message, ''].join('\n'),
      )
    })
}

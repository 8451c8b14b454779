// /llms.txt: the pages of the site as a list for language models, in the form of llmstxt.org.

import { PAGE_GROUPS } from './pages.ts'

export function llmsText(publicUrl: string): string {
  const groups = PAGE_GROUPS.map(({ title, pages }) => {
    const lines = pages.map(
      ({ slug, title: page, summary }) => `- [${page}](${publicUrl}/docs/${slug}.md): ${summary}`,
    )
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  return `# Cowry

> Self-hosted payment collection service: one JSON API, many gateways, hosted checkout, saved methods and a wallet.

Send requests to ${publicUrl}/api/v1 with an API key in the header x-api-key. Amounts in requests are numbers in major units;
amounts in responses are decimal strings with two places. Every error has a code, which is explained at ${publicUrl}/docs/errors.

## API

- [OpenAPI document](${publicUrl}/openapi.json): every operation with its schemas and examples.

${groups.join('\n')}`
}

// The page of errors: every code with its message, cause, fix and example. `npm run docs` writes it.

import { API_ERRORS, type ApiErrorCode, type ApiErrorType } from '../../core/errors.ts'
import { type ErrorHelp, exampleText } from './help.ts'
import { RECORD_HELP } from './records.ts'
import { REQUEST_HELP } from './requests.ts'

/** A code without help does not compile. */
export const ERROR_HELP: Readonly<Record<ApiErrorCode, ErrorHelp>> = { ...REQUEST_HELP, ...RECORD_HELP }

const TYPES: Readonly<Record<ApiErrorType, string>> = {
  validation_error: 'Invalid requests',
  authentication_error: 'Keys and tokens',
  permission_error: 'Permissions',
  not_found_error: 'Not found',
  conflict_error: 'Conflicts',
  unprocessable_error: 'Not possible',
  rate_limit_error: 'Rate limits',
  api_error: 'Errors of the service',
}

const INTRODUCTION = `Every error has a \`code\`, which never changes, and a \`message\` for people, which may. Decide by \`code\`, or by \`type\` and
\`retryable\`. \`error.details\` names each field that was not acceptable. Quote \`error.requestId\` when you ask for help.
\`error.docUrl\` leads to the code on this page.

\`\`\`json
{
  "status": "error",
  "message": "${API_ERRORS.invalid_currency.message}",
  "data": null,
  "error": {
    "code": "invalid_currency",
    "type": "validation_error",
    "retryable": false,
    "requestId": "0197a3c2-7d51-7cc3-98c4-dc0c0c07398f",
    "docUrl": "https://pay.example/docs/errors#invalid_currency",
    "details": [{ "field": "currency", "code": "invalid_currency", "message": "…" }]
  }
}
\`\`\`

Each example is a request with a valid key, unless it says otherwise. Requests with a body have the header
\`content-type: application/json\`.`

export function renderErrorPage(source: string): string {
  // A boundary: Object.entries loses the type of the keys.
  const entries = Object.entries(API_ERRORS) as [ApiErrorCode, (typeof API_ERRORS)[ApiErrorCode]][]
  const groups = Object.entries(TYPES).map(([type, title]) => {
    const codes = entries.filter(([, definition]) => definition.type === type)
    return [`## ${title}`, ...codes.map(([code]) => renderCode(code))].join('\n\n')
  })
  return `${['# Errors', source, INTRODUCTION, ...groups].join('\n\n')}\n`
}

function renderCode(code: ApiErrorCode): string {
  const { http, type, retryable, message } = API_ERRORS[code]
  const { cause, fix, example } = ERROR_HELP[code]
  const retry = retryable ? 'retryable: the same request may succeed later' : 'not retryable'
  return `### \`${code}\`

${message} HTTP ${http}, \`${type}\`, ${retry}.

**Cause.** ${cause}

**Fix.** ${fix}

**Example**${example.when === undefined ? '' : `, if ${example.when}`}:

\`\`\`http
${exampleText(example)}
\`\`\``
}

// A provider of dsh-memory-protocol/v1 in front of `recall protocol serve`, in Node.
//
// The protocol's surface has methods that answer at once (query, budgets, listEntries, auditList)
// and methods that call a gate back. The server is a process, so a worker thread talks to it: the
// main thread waits for what must answer at once (Atomics.wait), and stays free for the gate.
//
// RECALL_COMMAND names the command as a JSON list, e.g. ["recall"]; what it says on standard error
// is shown where RECALL_STDERR is set.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import {
  isMainThread, MessageChannel, receiveMessageOnPort, Worker, workerData,
} from 'node:worker_threads'

const BUDGETS = {
  user: { userGlobal: 2000, workspace: 2000 },
  agent: { userGlobal: 4000, workspace: 4000 },
}

/** What the server refused: `code` is the protocol's. */
export class ProviderError extends Error {
  constructor(error) {
    super(error.message)
    this.name = 'ProviderError'
    this.code = error.data?.code ?? `JSON_RPC_${error.code}`
    this.details = error.data?.details ?? {}
  }
}

/** Returns a provider over a store of its own; `gate` decides on each write. */
export function makeProvider({ dbPath, budgets = BUDGETS, gate = async () => 'allowed-once' }) {
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const sync = new MessageChannel()
  const calls = new MessageChannel()
  const worker = new Worker(fileURLToPath(import.meta.url), {
    workerData: { flag, sync: sync.port2, calls: calls.port2, store: `${dbPath}.recall`, budgets },
    transferList: [sync.port2, calls.port2],
  })
  worker.unref()
  const pending = new Map()
  let last = 0

  calls.port1.on('message', async (message) => {
    if (message.method === 'gate') {
      const { request, payload } = message.params
      const call = pending.get(request)
      let result = 'unavailable'
      try {
        const ask = typeof call?.write?.gate === 'function' ? call.write.gate : gate
        result = await ask(payload, call?.write)
      } catch (error) {
        console.error('the gate failed:', error)
      }
      calls.port1.postMessage({ id: message.id, result })
      return
    }
    const call = pending.get(message.id)
    pending.delete(message.id)
    if (pending.size === 0) calls.port1.unref()
    if (message.error) call?.reject(new ProviderError(message.error))
    else call?.resolve(message.result)
  })
  calls.port1.unref()

  function write(method, given, context) {
    return new Promise((resolve, reject) => {
      const id = ++last
      pending.set(id, { resolve, reject, write: context })
      calls.port1.ref()
      // Of a session only what can be sent: a gate or a signal stays here.
      const plain = JSON.parse(JSON.stringify(context ?? null))
      calls.port1.postMessage({ id, method, params: [given, plain] })
      context?.signal?.addEventListener('abort', () => {
        calls.port1.postMessage({ method: 'cancel', params: { id } })
      })
    })
  }

  function now(method, ...params) {
    Atomics.store(flag, 0, 0)
    sync.port1.postMessage({ id: `now-${++last}`, method, params })
    Atomics.wait(flag, 0, 0)
    const { message } = receiveMessageOnPort(sync.port1)
    if (message.error) throw new ProviderError(message.error)
    return message.result
  }

  return {
    add: (input, context) => write('add', input, context),
    replace: (input, context) => write('replace', input, context),
    remove: (input, context) => write('remove', input, context),
    consolidate: (input, context) => write('consolidate', input, context),
    seed: (inputs, context) => write('seed', inputs, context),
    import: (document, context) => write('import', document, context),
    query: (filter = {}, opts = {}) => now('query', filter, opts),
    budgets: () => now('budgets'),
    listEntries: () => now('listEntries'),
    auditList: (limit) => (limit === undefined ? now('auditList') : now('auditList', limit)),
    export: () => now('export'),
    close: () => {
      now('close')
      sync.port1.close()
      calls.port1.close()
    },
  }
}

export default makeProvider

/** The worker: passes lines between the main thread's ports and the server's streams. */
function serve({ flag, sync, calls, store, budgets }) {
  const limits = ['user', 'agent'].flatMap((track) => [
    '--budget', `${track}/user-global=${budgets[track].userGlobal}`,
    '--budget', `${track}/workspace=${budgets[track].workspace}`,
  ])
  const [command, ...more] = JSON.parse(process.env.RECALL_COMMAND ?? '["recall"]')
  const server = spawn(command, [...more, 'protocol', 'serve', '--store', store, ...limits], {
    stdio: ['pipe', 'pipe', process.env.RECALL_STDERR ? 'inherit' : 'ignore'],
    // Nobody's own settings: what is tried is the provider, not how this machine is set up.
    env: { ...process.env, HOME: store, XDG_CONFIG_HOME: `${store}/config`, RECALL_CONFIG: '' },
  })
  let waiting = null
  let closing = null

  const answerNow = (message) => {
    sync.postMessage(message)
    Atomics.store(flag, 0, 1)
    Atomics.notify(flag, 0)
  }
  const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

  calls.on('message', send)
  sync.on('message', (message) => {
    waiting = message.id
    if (message.method === 'close') {
      closing = message.id
      server.stdin.end()
    } else {
      send(message)
    }
  })
  createInterface({ input: server.stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.id !== undefined && message.id === waiting) answerNow(message)
    else if (message.method !== 'cancel') calls.postMessage(message)
  })
  server.stdin.on('error', () => {})
  const ended = (why) => {
    if (closing !== null) answerNow({ id: closing, result: null })
    else if (waiting !== null) answerNow({ id: waiting, error: { code: 0, message: why } })
    process.exit()
  }
  server.on('error', (error) => ended(`${command} can't be started: ${error.message}`))
  server.on('close', (code) => ended(`the server ended (${code})`))
}

if (!isMainThread && workerData?.flag) serve(workerData)

// Checks a Node-RED flow and runs its function nodes with messages: lines {"topic","payload"} on standard input, or
// {"tick":ms}, the time at which its timers fire. Prints a line for each message that reaches a debug node. usage:
// node flow.js FLOW.json
const fs = require("fs");

const flow = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const nodes = new Map(flow.map((node) => [node.id, node]));
const known = ["tab", "mqtt-broker", "mqtt in", "inject", "function", "debug"];
const problems = [];
const require_ = (holds, text) => holds || problems.push(text);

require_(nodes.size === flow.length, "two nodes have the same id");
for (const node of flow) {
  const name = `${node.id}:`;
  require_(known.includes(node.type), `${name} ${node.type} is not a node of Node-RED's core`);
  if (["tab", "mqtt-broker"].includes(node.type)) continue;
  require_(nodes.get(node.z)?.type === "tab", `${name} not on a tab`);
  require_(Array.isArray(node.wires) && node.x > 0 && node.y > 0, `${name} no wires or position`);
  for (const id of node.wires.flat()) require_(nodes.has(id), `${name} a wire leads to the unknown node ${id}`);
  if (node.type === "mqtt in") {
    require_(nodes.get(node.broker)?.type === "mqtt-broker", `${name} no broker`);
    require_(node.datatype === "json" && /^odograph\/v1\/\+\/\+\/[a-z/]+$/.test(node.topic), `${name} ${node.topic}`);
  }
  if (node.type === "function") {
    require_(node.outputs === node.wires.length, `${name} numbers of wires and outputs differ`);
    const kept = new Map();
    const context = { get: (key) => kept.get(key), set: (key, value) => kept.set(key, value) };
    const code = new Function("msg", "context", node.func);
    node.run = (msg) => code(msg, context);
  }
}

function matches(filter, topic) {
  const [left, right] = [filter.split("/"), topic.split("/")];
  return left.length === right.length && left.every((level, index) => level === "+" || level === right[index]);
}

function reach(node, msg) {
  if (node.type === "debug") return console.log(JSON.stringify(msg[node.complete]));
  let results = node.type === "function" ? node.run(msg) : msg;
  // As in Node-RED, a message is for the first output, a list has an entry for each output, and a nested list
  // contains several messages.
  if (!Array.isArray(results)) results = [results];
  results.forEach((result, output) => {
    for (const each of [result].flat().filter(Boolean)) {
      // Each node gets its own copy.
      for (const id of node.wires[output]) reach(nodes.get(id), structuredClone(each));
    }
  });
}

for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { topic, payload, tick } = JSON.parse(line);
  if (tick !== undefined) for (const node of flow.filter(({ type }) => type === "inject")) reach(node, { payload: tick });
  else for (const node of flow) if (node.type === "mqtt in" && matches(node.topic, topic)) reach(node, { topic, payload });
}
problems.forEach((problem) => console.error(problem));
process.exit(problems.length ? 1 : 0);

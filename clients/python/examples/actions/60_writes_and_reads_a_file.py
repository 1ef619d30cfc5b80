import json
from pathlib import Path

Path("table.json").write_text(json.dumps({str(n): n**3 for n in range(5)}))
print(json.loads(Path("table.json").read_text()))
